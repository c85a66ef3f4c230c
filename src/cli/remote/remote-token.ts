import { NodeDisk } from "../../disk/node-disk.ts";
import { readUserFile } from "../../process/read-json-list.ts";
import { usageError } from "../../process/usage-error.ts";
import { isAbsolute, resolve } from "node:path";
import { quotePath } from "../../core/shell/quote-command.ts";

/** The possible sources of a server's token. */
export interface TokenSources {
  /** `--token-file`, as it was typed. */
  readonly file: string | undefined;
  /** `$CHRONICLE_TOKEN`. */
  readonly given: string | undefined;
  /** Asked for only where there is a file. */
  readonly cwd: () => string;
}

/** The token for a server: from the file, else the given one; a Unix socket needs none. Throws `USAGE`. */
export function remoteToken({ file, given, cwd }: TokenSources): string | undefined {
  if (file !== undefined) {
    const at = isAbsolute(file) ? "/" : cwd();
    refuseShared(file, at);
    return fit(readUserFile(file, at).trim(), file);
  }
  return given === undefined || given === "" ? undefined : fit(given, "$CHRONICLE_TOKEN");
}

/** As for the operator's token: a file that others can read holds no secret. */
function refuseShared(file: string, cwd: string): void {
  const stat = new NodeDisk().lstat(resolve(cwd, file));
  if (stat?.kind !== "file" || (stat.mode & 0o077) === 0) return;
  throw usageError(`others can read ${file}`, `make it yours alone: chmod 600 ${quotePath(file)}`);
}

function fit(token: string, from: string): string {
  if (/^[\x21-\x7e]+$/.test(token)) return token;
  throw usageError(`what stands in ${from} is no token`, "a token is one word on one line");
}
