import { isUtf8 } from "node:buffer";
import { argumentBytes, environmentBytes, inheritedDescriptors, stillOpen } from "../disk/inherited.ts";
import type { ByteWords } from "../util/byte-words.ts";
import { optional } from "../util/optional.ts";

/**
 * The descriptors and texts that this process has inherited from its parent. A command that runs in place of this
 * process must inherit them, too.
 */
export interface Inheritance {
  /** The open file descriptors from 3 up. */
  descriptors(): readonly number[];
  /**
   * Returns the bytes of all environment variables that are not UTF-8, and the bytes of `command` if one of its words
   * is not UTF-8. Returns `undefined` if everything is UTF-8. `command` must have the last words of this process's own
   * command line.
   */
  bytes(command: readonly string[]): ByteWords | undefined;
}

/**
 * The key of the property of `globalThis` that has the inherited descriptors. Two bundles in this process share this
 * property. One bundle is the small client of the store's server. The other is the whole program, which the client
 * loads if it cannot use the server.
 */
const AT_START_KEY = Symbol.for("chronicle: descriptors at the start");
const shared = globalThis as { [AT_START_KEY]?: ReadonlyMap<number, string> };
const AT_START = (shared[AT_START_KEY] ??= inheritedDescriptors());

/**
 * The inheritance of this process. The program must import this module before all others, because a descriptor that
 * another module has opened would look inherited.
 */
export const INHERITED: Inheritance = { descriptors: () => stillOpen(AT_START), bytes };

function bytes(command: readonly string[]): ByteWords | undefined {
  const env = environmentBytes()?.filter((variable) => !isUtf8(variable)) ?? [];
  const words = command.some((word) => word.includes("\uFFFD")) ? lastWords(command) : undefined;
  if (env.length === 0 && words === undefined) return undefined;
  return { env, ...optional({ command: words }) };
}

/**
 * Returns the words of `command` as bytes. Returns `undefined` if all of them are UTF-8, or if the command line does
 * not end with `command`.
 */
function lastWords(command: readonly string[]): readonly Buffer[] | undefined {
  const words = argumentBytes()?.slice(-command.length) ?? [];
  const isSame = words.length === command.length && words.every((word, i) => word.toString("utf8") === command[i]);
  return isSame && !words.every((word) => isUtf8(word)) ? words : undefined;
}
