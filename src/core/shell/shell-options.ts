import type { ShellWord } from "./shell-words.ts";
import { addAll } from "../../util/long-lists.ts";

/** An option's names. In a bundle of letters, the first that takes a value takes the rest of the word. */
interface OptionNames {
  readonly names: readonly string[];
  /** The value of the last name, if it is in the same word. */
  readonly value?: string;
  /** True if the value of the last name is the next word, whatever that looks like. */
  readonly takesNext: boolean;
}

/** Splits an option: `--name`, `--name=value`, `-abc`, `-nvalue`. `valued`: the options that take a value. */
function namesOf(option: string, valued: ReadonlySet<string>): OptionNames {
  const equals = option.indexOf("=");
  if (option.startsWith("--")) {
    if (equals < 0) return { names: [option], takesNext: valued.has(option) };
    return { names: [option.slice(0, equals)], value: option.slice(equals + 1), takesNext: false };
  }
  const names: string[] = [];
  for (let at = 1; at < option.length; at += 1) {
    const name = `-${option[at]}`;
    names.push(name);
    if (!valued.has(name)) continue;
    const value = option.slice(at + 1);
    return value === "" ? { names, takesNext: true } : { names, value, takesNext: false };
  }
  return { names, takesNext: false };
}

/** True if the word after this option is its value. */
export function takesNext(option: string, valued: ReadonlySet<string>): boolean {
  return namesOf(option, valued).takesNext;
}

/** The words after a program's name, split as commander splits them. */
export interface GivenOptions {
  /** The names of the given options; letters of a bundle count one by one. */
  readonly options: ReadonlySet<string>;
  /** The last value of each option that has one. */
  readonly values: ReadonlyMap<string, ShellWord>;
  readonly operands: readonly ShellWord[];
}

const isOption = (text: string): boolean => text.length > 1 && text.startsWith("-") && !/^-\.?\d/.test(text);

/**
 * Splits words into options and operands. `until`: options end with the words, or at the first operand, which is a
 * command that the remaining words belong to.
 */
export function readOptions(
  words: readonly ShellWord[],
  valued: ReadonlySet<string>,
  until: "the end" | "the first operand",
): GivenOptions {
  const options = new Set<string>();
  const values = new Map<string, ShellWord>();
  const operands: ShellWord[] = [];
  for (let at = 0; at < words.length; at += 1) {
    const word = words[at];
    if (word === undefined) break;
    const isEnd = word.text === "--";
    if (isEnd || (until === "the first operand" && !isOption(word.text))) {
      addAll(operands, words.slice(isEnd ? at + 1 : at));
      break;
    }
    if (!isOption(word.text)) {
      operands.push(word);
      continue;
    }
    const { names, value, takesNext: isNext } = namesOf(word.text, valued);
    for (const name of names) options.add(name);
    if (isNext) at += 1;
    const given = value === undefined ? (isNext ? words[at] : undefined) : { ...word, text: value, glob: -1 };
    if (given !== undefined) values.set(names.at(-1) ?? "", given);
  }
  return { options, values, operands };
}
