import { createHash } from "node:crypto";
import { basename } from "node:path";

/** The exit code with which a watch asks to be started again, because the program was replaced (EX_TEMPFAIL). */
export const START_AGAIN = 75;

/** The environment variable that tells a watch that a service manager has started it, and will also restart it. */
export const SERVICE_VARIABLE = "CHRONICLE_WATCH_SERVICE";

/** A service of the user's session that records one folder. */
export interface WatchService {
  /** The real path of the folder. */
  readonly folder: string;
  /** The absolute path of the program, and its arguments. */
  readonly command: readonly string[];
  /** The environment variables that the command needs in addition to those of the service manager. */
  readonly env: Readonly<Record<string, string>>;
  /** The folders that were made for the service's file. Each folder is removed when its last file is removed. */
  readonly made: readonly string[];
}

/** The facts about an installed service that the service's file contains. */
export type InstalledService = Pick<WatchService, "folder" | "made">;

const PREFIX = "chronicle-watch-";
const MOST_NAME = 40;
const MARK_DIGITS = 8;

/**
 * Returns the name of a folder's service. The name contains the folder's name, for people. It also contains the
 * beginning of the SHA-256 of the whole path, so that folders with the same name get different services.
 */
export function serviceName(folder: string): string {
  const plain = basename(folder)
    .replaceAll(/[^A-Za-z0-9_.-]+/g, "-")
    .slice(0, MOST_NAME)
    .replaceAll(/^[-.]+|[-.]+$/g, "");
  const mark = createHash("sha256").update(folder).digest("hex").slice(0, MARK_DIGITS);
  return `${PREFIX}${plain === "" ? "folder" : plain}-${mark}`;
}

export function isServiceName(name: string): boolean {
  return name.startsWith(PREFIX);
}

/**
 * Reads the facts from their JSON text. Returns `undefined` for a text of another form, because somebody else may have
 * written the file.
 */
export function readFacts(text: string | undefined): InstalledService | undefined {
  if (text === undefined) return undefined;
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  const { folder, made } = (value ?? {}) as Partial<Record<string, unknown>>;
  if (typeof folder !== "string" || !Array.isArray(made)) return undefined;
  return { folder, made: made.filter((one) => typeof one === "string") };
}

/** Returns the facts as one line of JSON. */
export function factsOf({ folder, made }: InstalledService): string {
  return JSON.stringify({ folder, made });
}
