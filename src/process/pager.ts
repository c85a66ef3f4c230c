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

/** Variables that agents set for the commands that they start, some of them on a terminal of their own. */
const AGENTS_VARIABLES = [
  "AGENT",
  "AI_AGENT",
  "CLAUDECODE",
  "CLINE_ACTIVE",
  "CODEX_CI",
  "CODEX_SANDBOX",
  "CODEX_THREAD_ID",
  "CURSOR_AGENT",
  "GEMINI_CLI",
  "OPENCODE",
];

/**
 * True if no person may be at the terminal to leave a pager: in a job (`CI`), for an agent, and on a terminal that
 * cannot move its cursor.
 */
export function isUnattended(env: Environment): boolean {
  const { TERM = "" } = env;
  if (TERM === "" || TERM === "dumb") return true;
  return ["CI", ...AGENTS_VARIABLES].some((name) => (env[name] ?? "") !== "");
}

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
  const { trouble, code } = await paged(pager, input, env);
  const notes = output.filter(([fd]) => fd === 2);
  if (trouble === undefined && code === 0) return notes;
  const way = "set CHRONICLE_PAGER to another pager, or to cat for none\n";
  const ended = `note: the pager ended with the exit code ${code} (${printable(pager)}); ${way}`;
  if (trouble === undefined) return [...notes, [2, Buffer.from(ended)]];
  const note = `note: the pager could not be started (${printable(pager)}: ${trouble}), so the output was printed directly; ${way}`;
  return [...output, [2, Buffer.from(note)]];
}

interface Paged {
  /** The reason why the pager could not be started. */
  readonly trouble?: string | undefined;
  /** The exit code of the pager. */
  readonly code: number;
}

/** Runs the pager, and waits for its end. */
async function paged(pager: string, input: Uint8Array, env: Environment): Promise<Paged> {
  const command = wordsOf(pager);
  // The code that starts processes is loaded on first use, so that a command line without a pager starts fast.
  const { runCommand } = await import("../util/run-command.ts");
  try {
    const { code } = await runCommand(command, { env: { ...PAGER_VARIABLES, ...env }, input });
    return { code, trouble: command[0] === SHELL ? SHELL_FAILURES.get(code) : undefined };
  } catch (error) {
    const errno = errnoOf(error);
    if (errno === undefined) throw error;
    return { code: 0, trouble: errno };
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
  const decoder = new TextDecoder();
  let needed = 0;
  // The end of a part that has no newline yet. Only so much is decoded as fits on a screen.
  let rest = "";
  for (const [, bytes] of output) {
    const lines = (rest + decoder.decode(bytes, { stream: true })).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) needed += rowsOf(line, columns);
    if (needed >= rows) return false;
  }
  return needed + (rest === "" ? 0 : rowsOf(rest, columns)) < rows;
}

function rowsOf(line: string, columns: number): number {
  return Math.max(1, Math.ceil(widthOf(line.replaceAll("\t", TAB)) / columns));
}
