import { isUtf8 } from "node:buffer";

const ASSIGNMENT = "=".charCodeAt(0);

/**
 * A command and its environment variables as bytes. Bytes are needed for words that are not UTF-8, because such words
 * do not fit in a string.
 */
export interface ByteWords {
  /**
   * All words of the command, the program first. Absent if all words are UTF-8. The words are then given as strings
   * elsewhere.
   */
  readonly command?: readonly Uint8Array[];
  /**
   * Variables as `NAME=value`. Each replaces the variable of `env` that has the same text once the bytes are decoded.
   * Variables whose names are not UTF-8 are added. Default: none.
   */
  readonly env?: readonly Uint8Array[];
}

/**
 * Decodes the words of a command, and executes the command. Node passes arguments only as UTF-8. Therefore, a word that
 * is not UTF-8 is passed to this shell script as octal escapes with the prefix `%`. All other words have the prefix
 * `=`. The script executes `env`, which sets the variables and executes the command. The shell does not set the
 * variables itself, because it would drop some of them and add others. The dot preserves final newlines, which `$(...)`
 * would remove.
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
 * Returns the words of a shell command that starts `command` with exactly these bytes, and with only these variables.
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
 * Returns each variable of `env`, with its exact bytes if `exact` has them. Adds the variables of `exact` whose names
 * are not UTF-8, because Node does not report their values.
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

/**
 * If the name of the program contains `=`, returns the words of a shell command that starts the program, because `env`
 * would read such a name as a variable. Returns no words for any other program.
 */
function behindAssignment([program = ""]: readonly string[]): readonly string[] {
  return program.includes("=") ? ["/bin/sh", "-c", 'exec "$@"', "sh"] : [];
}

function encoded(word: string | Uint8Array): string {
  if (typeof word === "string") return `=${word}`;
  return `%${Array.from(word, (byte) => `\\0${byte.toString(8).padStart(3, "0")}`).join("")}`;
}
