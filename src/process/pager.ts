import { errnoOf } from "../core/values/errors.ts";
import { printable, widthOf } from "./printable.ts";

type Environment = Readonly<Record<string, string | undefined>>;

/** A part of the output of a command: the file descriptor (1 or 2) and the bytes. */
type Part = readonly [fd: 1 | 2, bytes: Uint8Array];

/** The size of a terminal, in characters. */
interface Screen {
  /** `undefined` if the terminal does not tell its height. */
  readonly rows: number | undefined;
  readonly columns: number;
}

/**
 * The pager if the user has named none. `F`: it ends if the text fits on the screen. `R`: it shows colours. `X`: it
 * leaves the text on the screen when it ends.
 */
const DEFAULT_PAGER = "less -FRX";

/** Variables that a pager gets if the user has not set them. They are those that git sets. */
const PAGER_VARIABLES = { LESS: "FRX", LV: "-c" };

/**
 * Returns the command line of the user's pager: `$CHRONICLE_PAGER`, else `$PAGER`, else `less -FRX`. Returns
 * `undefined` if the variable is empty or `cat`, because the user wants no pager.
 */
export function pagerOf(env: Environment): string | undefined {
  const named = (env["CHRONICLE_PAGER"] ?? env["PAGER"] ?? DEFAULT_PAGER).trim();
  return named === "" || named === "cat" ? undefined : named;
}

/**
 * Shows the stdout of a command that has ended in the user's pager, and waits for the end of the pager. Does nothing if
 * the output fits on the screen, or if the user wants no pager. Resolves to the parts of the output that the caller must
 * print now: stderr is printed after the pager, because it would spoil the pager's screen. If the pager cannot be
 * started, these parts are the whole output and a note on stderr.
 */
export async function throughPager<P extends Part>(
  output: readonly P[],
  { env, screen }: { readonly env: Environment; readonly screen: Screen },
): Promise<readonly (P | Part)[]> {
  const pager = pagerOf(env);
  if (pager === undefined || fits(output, screen)) return output;
  const input = Buffer.concat(output.flatMap(([fd, bytes]) => (fd === 1 ? [bytes] : [])));
  const trouble = await troubleOf(pager, input, env);
  if (trouble === undefined) return output.filter(([fd]) => fd === 2);
  const note =
    `note: the pager could not be started (${printable(pager)}: ${trouble}), so the output was printed directly; ` +
    "set CHRONICLE_PAGER to another pager, or to cat for none\n";
  return [...output, [2, Buffer.from(note)]];
}

/** Runs the pager. Resolves to the reason why it could not be started; `undefined` if it ran. */
async function troubleOf(pager: string, input: Uint8Array, env: Environment): Promise<string | undefined> {
  const command = wordsOf(pager);
  // The code that starts processes is loaded on first use, so that a command line without a pager starts fast.
  const { runCommand } = await import("../util/run-command.ts");
  try {
    const { code } = await runCommand(command, { env: { ...PAGER_VARIABLES, ...env }, input });
    if (command[0] !== SHELL) return undefined;
    return SHELL_FAILURES.get(code);
  } catch (error) {
    const errno = errnoOf(error);
    if (errno === undefined) throw error;
    return errno;
  }
}

const SHELL = "/bin/sh";
/** The exit codes with which a shell reports that it could not start a command. */
const SHELL_FAILURES: ReadonlyMap<number, string> = new Map([
  [126, "not executable"],
  [127, "not found"],
]);

/** A command line that means the same with and without a shell. */
const PLAIN = /^[\w@%+:,./ -]+$/;

/** Returns the words that start the pager. A shell reads a command line that needs one (`less -R | head`). */
function wordsOf(pager: string): readonly string[] {
  return PLAIN.test(pager) ? pager.split(/ +/) : [SHELL, "-c", pager];
}

/** The most columns that a tab takes. */
const TAB = " ".repeat(8);

/** True if the output and the next prompt of the shell fit on the screen, or if the height of the screen is unknown. */
function fits(output: readonly Part[], { rows, columns }: Screen): boolean {
  if (rows === undefined || rows === 0) return true;
  const text = Buffer.concat(output.map(([, bytes]) => bytes)).toString("utf8");
  let needed = 0;
  for (let at = 0; at < text.length;) {
    const end = text.indexOf("\n", at);
    const line = text.slice(at, end < 0 ? text.length : end);
    needed += Math.max(1, Math.ceil(widthOf(line.replaceAll("\t", TAB)) / columns));
    if (needed >= rows) return false;
    at = end < 0 ? text.length : end + 1;
  }
  return true;
}
