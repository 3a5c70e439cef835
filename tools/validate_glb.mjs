// Print the Khronos validator's report on a GLB file: node validate_glb.mjs FOLDER FILE
// FOLDER is where npm installed gltf-validator.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";

const [folder, file] = process.argv.slice(2);
const validator = createRequire(`${folder}/`)("gltf-validator");
console.log(JSON.stringify(await validator.validateBytes(new Uint8Array(readFileSync(file)))));
