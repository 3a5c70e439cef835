"""Write the TypeScript types of the studio's messages, from manikin/studio/messages."""

from pathlib import Path

from manikin.studio.messages.typescript import typescript

TARGET = Path(__file__).parents[1] / "manikin" / "studio" / "page" / "src" / "messages.ts"

if __name__ == "__main__":
    TARGET.parent.mkdir(parents=True, exist_ok=True)
    TARGET.write_text(typescript(), encoding="utf-8")
    print(f"wrote {TARGET}")
