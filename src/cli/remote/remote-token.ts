import { isAbsolute, resolve } from "node:path";
import { isLoopback } from "../../server/callers/listener.ts";
import { readUserFile } from "../../process/read-json-list.ts";
import { statBehindLink } from "../../process/user-files.ts";
import { usageError } from "../../process/usage-error.ts";
import { quotePath } from "../../core/shell/quote-command.ts";

interface TokenSources {
  /** The value of `--token-file` as it was typed. */
  readonly file: string | undefined;
  /** The value of `$CHRONICLE_TOKEN`. */
  readonly given: string | undefined;
  /** Returns the current folder. It is called only if `file` is a relative path. */
  readonly cwd: () => string;
}

/**
 * Returns the token for a server, from the file or else from the variable; `undefined` if neither is given. Throws
 * `USAGE` if the file cannot be read, if other users have permissions on the file, or if the text is no token.
 */
export function remoteToken({ file, given, cwd }: TokenSources): string | undefined {
  if (file !== undefined) {
    const at = isAbsolute(file) ? "/" : cwd();
    refuseShared(file, at);
    return fit(readUserFile(file, at).trim(), file);
  }
  return given === undefined || given === "" ? undefined : fit(given, "$CHRONICLE_TOKEN");
}

/** Throws `USAGE` for a file on which other users have permissions. */
function refuseShared(file: string, cwd: string): void {
  const stat = statBehindLink(resolve(cwd, file));
  if (stat?.kind !== "file" || (stat.mode & 0o077) === 0) return;
  throw usageError(`others can read ${file}`, `let only yourself read it: chmod 600 ${quotePath(file)}`);
}

function fit(token: string, from: string): string {
  if (/^[\x21-\x7e]+$/.test(token)) return token;
  throw usageError(`the text in ${from} is no token`, "a token is one word on one line");
}

/** Returns a note if the token would be sent over a network without encryption; else `undefined`. */
export function bareTokenNote(url: string, token: string | undefined): string | undefined {
  if (token === undefined || !URL.canParse(url)) return undefined;
  const { protocol, hostname } = new URL(url);
  if (protocol !== "http:" || isLoopback(hostname)) return undefined;
  return `whoever listens on the way to ${hostname} can read the token: use https, or a tunnel to the server's own port`;
}
