// Compresses the files of the page. The server sends the compressed files as they are.
import { readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";

/** The ends of the names of files that become smaller. */
const COMPRESSIBLE = /\.(css|ico|js|json|svg|txt)$/;

/**
 * Writes NAME.br and NAME.gz beside each file of the folder that becomes smaller, and removes those of an earlier build.
 * Returns the number of files, and their size as most browsers load them.
 */
export function compressAssets(folder) {
  for (const name of readdirSync(folder)) if (/\.(br|gz)$/.test(name)) rmSync(join(folder, name));
  const names = readdirSync(folder);
  const sizes = names.map((name) => compress(join(folder, name)));
  return { files: names.length, bytes: sizes.reduce((sum, size) => sum + size, 0) };
}

/** Returns the size of the smallest form. */
function compress(path) {
  const whole = readFileSync(path);
  if (!COMPRESSIBLE.test(path)) return whole.length;
  const params = { [constants.BROTLI_PARAM_QUALITY]: 11, [constants.BROTLI_PARAM_SIZE_HINT]: whole.length };
  const forms = { br: brotliCompressSync(whole, { params }), gz: gzipSync(whole, { level: 9 }) };
  for (const [end, bytes] of Object.entries(forms)) {
    if (bytes.length < whole.length) writeFileSync(`${path}.${end}`, bytes);
  }
  return Math.min(whole.length, forms.br.length);
}
