import { isUtf8 } from "node:buffer";

const ASSIGNMENT = "=".charCodeAt(0);

/** Words that a string cannot hold, because their bytes are not UTF-8. */
export interface ByteWords {
  /** All words of the command, the program first. `undefined`: use the strings. */
  readonly command?: readonly Uint8Array[];
  /** Variables, as `NAME=value`; each replaces the one whose text is the same. */
  readonly env?: readonly Uint8Array[];
}

/**
 * Node passes words on only as UTF-8. Therefore a shell gets each byte as a number, and executes `env`, which executes
 * the command: the variables do not pass through the shell, which drops and adds some. A word begins with `=`, or with
 * `%` if it is encoded. The dot at its end keeps newlines, which the shell would cut off.
 */
const SCRIPT = `
for w do
  shift
  case $w in
    %*) w=$(printf %b "\${w#?}."); w=\${w%.} ;;
    *) w=\${w#?} ;;
  esac
  set -- "$@" "$w"
done
exec /usr/bin/env -i "$@"`;

/**
 * Returns the words that start a command with exactly these bytes, in an empty environment: a program and its
 * arguments.
 */
export function throughShell(
  command: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
  bytes: ByteWords,
): readonly [string, ...string[]] {
  const words: readonly (string | Uint8Array)[] = bytes.command ?? command;
  return [
    "/bin/sh",
    "-c",
    SCRIPT,
    "sh",
    ...variables(env, bytes.env ?? []).map(encoded),
    ...behindAssignment(command).map(encoded),
    ...words.map(encoded),
  ];
}

/**
 * Returns the variables to pass. Node reports no value for a variable whose name is not UTF-8: such a one is passed as
 * it is.
 */
function variables(
  env: Readonly<Record<string, string | undefined>>,
  exact: readonly Uint8Array[],
): (string | Uint8Array)[] {
  const texts = new Map(exact.map((variable) => [Buffer.from(variable).toString("utf8"), variable]));
  const known = Object.entries(env).flatMap(([name, value]) => {
    const text = `${name}=${value}`;
    return value === undefined ? [] : [texts.get(text) ?? text];
  });
  return [...known, ...exact.filter((variable) => !isUtf8(variable.subarray(0, variable.indexOf(ASSIGNMENT, 1))))];
}

/** `env` takes a program with a `=` in its name for another variable, so a shell starts it. */
function behindAssignment([program = ""]: readonly string[]): readonly string[] {
  return program.includes("=") ? ["/bin/sh", "-c", 'exec "$@"', "sh"] : [];
}

function encoded(word: string | Uint8Array): string {
  if (typeof word === "string") return `=${word}`;
  return `%${Array.from(word, (byte) => `\\0${byte.toString(8).padStart(3, "0")}`).join("")}`;
}
