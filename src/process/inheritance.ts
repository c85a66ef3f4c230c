import { isUtf8 } from "node:buffer";
import { argumentBytes, environmentBytes, inheritedDescriptors, stillOpen } from "../disk/inherited.ts";
import type { ByteWords } from "../util/byte-words.ts";
import { optional } from "../util/optional.ts";

/**
 * The state that this process inherited from the one that started it, and that a command run in its place must inherit
 * as well.
 */
export interface Inheritance {
  /** The descriptors from 3 up that are open. */
  descriptors(): readonly number[];
  /**
   * Returns the bytes of `command`, which ends the command line, if a word of it is not UTF-8, and of the variables
   * that are not; `undefined` if all are UTF-8.
   */
  bytes(command: readonly string[]): ByteWords | undefined;
}

const AT_START = inheritedDescriptors();

/**
 * The inheritance of this process. The program imports it first: later, a descriptor that a module has opened would
 * count as inherited.
 */
export const INHERITED: Inheritance = { descriptors: () => stillOpen(AT_START), bytes };

function bytes(command: readonly string[]): ByteWords | undefined {
  const env = environmentBytes()?.filter((variable) => !isUtf8(variable)) ?? [];
  const words = command.some((word) => word.includes("\uFFFD")) ? lastWords(command) : undefined;
  if (env.length === 0 && words === undefined) return undefined;
  return { env, ...optional({ command: words }) };
}

/**
 * Reads the command at the end of the command line. `undefined` if the strings are exact, or the line ends differently.
 */
function lastWords(command: readonly string[]): readonly Buffer[] | undefined {
  const words = argumentBytes()?.slice(-command.length) ?? [];
  const isSame = words.length === command.length && words.every((word, i) => word.toString("utf8") === command[i]);
  return isSame && !words.every((word) => isUtf8(word)) ? words : undefined;
}
