import { ChronicleError } from "../../core/values/errors.ts";
import { MAX_JSON_DEPTH, MAX_JSON_PARTS } from "./limits.ts";

const QUOTE = 0x22;
const BACKSLASH = 0x5c;

/**
 * Checks the nesting, commas and colons of a JSON text before it is parsed, because a small text can stand for a large
 * value. Throws `LIMIT_EXCEEDED`. Does not check whether the text is JSON.
 */
export function checkJson(text: Uint8Array): void {
  let depth = 0;
  let parts = 0;
  let inString = false;
  for (let at = 0; at < text.length; at += 1) {
    const byte = text[at];
    if (inString) {
      if (byte === BACKSLASH) at += 1;
      else if (byte === QUOTE) inString = false;
    } else if (byte === QUOTE) inString = true;
    else if (byte === 0x7b || byte === 0x5b) {
      depth += 1;
      if (depth > MAX_JSON_DEPTH) refuse(`it is nested deeper than ${MAX_JSON_DEPTH} levels`);
    } else if (byte === 0x7d || byte === 0x5d) depth -= 1;
    else if (byte === 0x2c || byte === 0x3a) {
      parts += 1;
      if (parts > MAX_JSON_PARTS) refuse(`it has more than ${MAX_JSON_PARTS} parts`);
    }
  }
}

function refuse(reason: string): never {
  throw new ChronicleError("LIMIT_EXCEEDED", `a message is refused: ${reason}`);
}
