import { join } from "node:path";
import type { Disk } from "../../disk/disk.ts";
import { makeMissingFolders } from "../../disk/make-folders.ts";
import { createFileDurably, uniqueMark } from "../../disk/write-fully.ts";
import { hashToken, newToken } from "../../server/callers/token.ts";
import { readWholeFile, statBehindLink } from "../../process/user-files.ts";
import { usageError } from "../../process/usage-error.ts";
import { FileTokenStore } from "../../daemon/file-token-store.ts";
import { quotePath } from "../../core/shell/quote-command.ts";

/** The minimum length of a token, in characters. A person may have chosen the token, but it must be hard to guess. */
const MIN_LENGTH = 24;

export interface TokenPlaces {
  /** The value of `$CHRONICLE_TOKEN`. */
  readonly given: string | undefined;
  /** The absolute path of `--token-file`. */
  readonly file: string | undefined;
  readonly configFolder: string;
}

/** The operator's token, and the name of its source. The token must not be printed. */
export interface OperatorToken {
  readonly token: string;
  readonly from: string;
}

function operatorTokenFile(configFolder: string): string {
  return join(configFolder, "operator.token");
}

/**
 * Returns the operator's token: the value of `$CHRONICLE_TOKEN`, or else the token in the file. If `--token-file` is
 * not given and the default file is missing, a new token is written to that file (0600). Throws `USAGE` if the file
 * that `--token-file` names is missing, if others can read the file, if the token is too short or is not one word, or
 * if the token is in the list of tokens.
 */
export function operatorToken(disk: Disk, places: TokenPlaces): OperatorToken {
  const operator = tokenOf(disk, places);
  const record = new FileTokenStore(disk, places.configFolder, () => Date.now()).find(hashToken(operator.token));
  if (record === undefined) return operator;
  throw usageError(
    `the token of ${operator.from} is in the list of tokens, with the role ${record.role}: it cannot be the operator's`,
    operator.from === GIVEN
      ? "it is the token of a client in this shell: unset CHRONICLE_TOKEN for the server"
      : "give another token, or revoke this one; `chronicle token` lists all tokens",
  );
}

const GIVEN = "$CHRONICLE_TOKEN";

function tokenOf(disk: Disk, { given, file, configFolder }: TokenPlaces): OperatorToken {
  if (given !== undefined && given !== "") return { token: fit(given, GIVEN), from: GIVEN };
  const path = file ?? operatorTokenFile(configFolder);
  const isMade = file !== undefined || disk.lstat(path) !== undefined;
  const stat = statBehindLink(path);
  if (stat === undefined && isMade) throw usageError(`there is no ${path}`, "make this file, with a token on one line");
  if (stat === undefined) {
    makeMissingFolders(disk, configFolder, 0o700);
    // Several servers can share the folder. All servers that start for the first time use the first server's token.
    createFileDurably(disk, path, Buffer.from(`${newToken()}\n`), { mark: uniqueMark() });
  } else if ((stat.mode & 0o077) !== 0) {
    throw usageError(`others can read ${path}`, `let only yourself read it: chmod 600 ${quotePath(path)}`);
  }
  return { token: fit(readWholeFile(path).toString("utf8").trim(), path), from: path };
}

function fit(token: string, from: string): string {
  if (token.length >= MIN_LENGTH && /^[\x21-\x7e]+$/.test(token)) return token;
  throw usageError(
    `the token of ${from} needs ${MIN_LENGTH} characters or more, and no spaces`,
    "make one: openssl rand -hex 32",
  );
}
