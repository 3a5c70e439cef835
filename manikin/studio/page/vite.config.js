import { defineConfig } from "vite";

// One script, one style sheet, plain names: building twice gives the same bytes.
export default defineConfig({
  base: "./",
  build: {
    outDir: "../static",
    emptyOutDir: true,
    target: "es2022",
    modulePreload: false,
    chunkSizeWarningLimit: 1500,
    rollupOptions: {
      output: { entryFileNames: "studio.js", chunkFileNames: "[name].js", assetFileNames: "studio[extname]" },
    },
  },
});
