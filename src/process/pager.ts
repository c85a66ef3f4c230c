import { PassThrough, type Readable } from "node:stream";
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
 * The pager that is used if the user has named none. `F`: `less` ends if the text fits on the screen. `R`: `less` shows
 * colours. `X`: `less` leaves the text on the screen when it ends.
 */
const DEFAULT_PAGER = "less -FRX";

/** The variables that a pager gets if the user has not set them. Git sets the same variables. */
const PAGER_VARIABLES = { LESS: "FRX", LV: "-c" };

/**
 * The variables that agents set for the commands that they start. Some agents start commands on a terminal of their
 * own.
 */
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
 * Returns true if there may be no person at the terminal who could leave a pager: in a CI job (`CI` is set), for an
 * agent, and on a terminal that cannot move its cursor.
 */
export function isUnattended(env: Environment): boolean {
  const { TERM = "" } = env;
  if (TERM === "" || TERM === "dumb") return true;
  return ["CI", ...AGENTS_VARIABLES].some((name) => (env[name] ?? "") !== "");
}

/**
 * Returns the command line of the user's pager: `$CHRONICLE_PAGER`, else `$PAGER`, else `less -FRX`. Returns
 * `undefined` if this command line is empty or `cat`, because the user then wants no pager.
 */
export function pagerOf(env: Environment): string | undefined {
  const named = (env["CHRONICLE_PAGER"] ?? env["PAGER"] ?? DEFAULT_PAGER).trim();
  return named === "" || named === "cat" ? undefined : named;
}

interface PagerSetting {
  readonly env: Environment;
  readonly screen: Screen;
}

/**
 * Shows the stdout of a command in the user's pager after the command has ended. Waits for the end of the pager. Does
 * nothing if the output fits on the screen, or if the user wants no pager. Resolves to the parts of the output that the
 * caller must print now (see `PagedOutput.end`).
 */
export async function throughPager<P extends Part>(
  output: readonly P[],
  setting: PagerSetting,
): Promise<readonly (P | Part)[]> {
  const paged = new PagedOutput(setting);
  for (const part of output) paged.write(part);
  return paged.isShown ? paged.end() : output;
}

/** A pager that was started. */
interface Shown {
  readonly input: PassThrough;
  readonly ended: Promise<Paged>;
  end?: Paged;
}

/**
 * The output of a command. Once the output does not fit on the screen, starts the user's pager, and passes the stdout
 * to the pager while the command continues.
 */
export class PagedOutput {
  readonly #setting: PagerSetting;
  readonly #pager: string | undefined;
  readonly #measure: ScreenMeasure;
  #parts: Part[] = [];
  /** The number of bytes that the pager was given. */
  #given = 0;
  #shown: Shown | undefined;

  constructor(setting: PagerSetting) {
    this.#setting = setting;
    this.#pager = pagerOf(setting.env);
    this.#measure = new ScreenMeasure(setting.screen);
  }

  /** True if nothing was written yet. */
  get isEmpty(): boolean {
    return this.#parts.length === 0 && this.#shown === undefined;
  }

  /** True once the pager was started. */
  get isShown(): boolean {
    return this.#shown !== undefined;
  }

  /** True if the user has left the pager, so that nobody reads further output. */
  get isLeft(): boolean {
    return this.#shown?.end !== undefined && this.#shown.end.trouble === undefined;
  }

  write(part: Part): void {
    this.#parts.push(part);
    if (this.#shown !== undefined) this.#feed([part]);
    if (this.#shown !== undefined || this.#pager === undefined || this.#measure.fits(part[1])) return;
    const input = new PassThrough();
    // Ignore the error of the stream: a pager that ends early destroys the stream, and does not need the unread rest.
    input.on("error", () => undefined);
    const shown: Shown = { input, ended: paged(this.#pager, input, this.#setting.env) };
    this.#shown = shown;
    void shown.ended.then((end) => (shown.end = end)).catch(() => undefined);
    this.#feed(this.#parts);
  }

  #feed(parts: readonly Part[]): void {
    for (const [fd, bytes] of parts) {
      if (fd !== 1 || this.#shown?.input.writable !== true) continue;
      this.#shown.input.write(bytes);
      this.#given += bytes.length;
    }
  }

  /** Resolves once the pager has room for more, or has ended. */
  async hasRoom(): Promise<void> {
    if (this.#shown === undefined) return;
    const { input, ended } = this.#shown;
    if (input.writableNeedDrain) await Promise.race([drainedOrClosed(input), ended]);
    // The output was kept in case that the pager cannot be started.
    const isRead = this.#given > MOST_UNREAD && input.writable && !input.writableNeedDrain;
    if (isRead && this.#shown.end === undefined) this.#parts = this.#parts.filter(([fd]) => fd === 2);
  }

  /**
   * Waits for the end of the pager. Resolves to the parts of the output that the caller must print now. Without a
   * pager, these are all parts. After a pager, these are the parts of stderr, because they would have spoiled the
   * pager's screen. If the pager could not be started, these are all parts and a note on stderr.
   */
  async end(): Promise<readonly Part[]> {
    if (this.#shown === undefined) return this.#parts;
    this.#shown.input.end();
    const { trouble, code } = await this.#shown.ended;
    const notes = this.#parts.filter(([fd]) => fd === 2);
    if (trouble === undefined && code === 0) return notes;
    const way = "set CHRONICLE_PAGER to another pager, or to cat for none\n";
    const pager = printable(this.#pager ?? "");
    const ended = `note: the pager ended with the exit code ${code} (${pager}); ${way}`;
    if (trouble === undefined) return [...notes, [2, Buffer.from(ended)]];
    const note = `note: the pager could not be started (${pager}: ${trouble}), so the output was printed directly; ${way}`;
    return [...this.#parts, [2, Buffer.from(note)]];
  }
}

/** A pager that takes more bytes than this has read some: the system keeps fewer for a program that reads none. */
const MOST_UNREAD = 2 * 1024 ** 2;

function drainedOrClosed(input: PassThrough): Promise<void> {
  return new Promise((done) => {
    const settle = (): void => {
      input.off("drain", settle).off("close", settle);
      done();
    };
    input.once("drain", settle).once("close", settle);
  });
}

interface Paged {
  /** The reason why the pager could not be started. */
  readonly trouble?: string | undefined;
  /** The exit code of the pager. */
  readonly code: number;
}

/** Runs the pager, and waits for its end. */
async function paged(pager: string, input: Readable, env: Environment): Promise<Paged> {
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

/** Matches a command line that means the same with and without a shell. */
const PLAIN = /^[\w@%+:,./ -]+$/;

/**
 * Returns the words of the command that starts the pager. If the pager's command line needs a shell (`less -R | head`),
 * the command is a shell with this line.
 */
function wordsOf(pager: string): readonly string[] {
  return PLAIN.test(pager) ? pager.split(/ +/) : [SHELL, "-c", pager];
}

/** The maximum width of a tab, as spaces. */
const TAB = " ".repeat(8);

/**
 * Measures whether output and the next prompt of the shell fit on a screen. If the height of the screen is unknown, all
 * output fits.
 */
class ScreenMeasure {
  readonly #screen: Screen;
  readonly #decoder = new TextDecoder();
  #needed = 0;
  /** The last line of the output so far, if it has no newline yet. */
  #rest = "";

  constructor(screen: Screen) {
    this.#screen = screen;
  }

  /** Adds a part of the output. Returns whether everything so far fits. */
  fits(bytes: Uint8Array): boolean {
    const { rows, columns } = this.#screen;
    if (rows === undefined || rows === 0) return true;
    const lines = (this.#rest + this.#decoder.decode(bytes, { stream: true })).split("\n");
    this.#rest = lines.pop() ?? "";
    for (const line of lines) {
      this.#needed += rowsOf(line, columns);
      if (this.#needed >= rows) return false;
    }
    return this.#needed + (this.#rest === "" ? 0 : rowsOf(this.#rest, columns)) < rows;
  }
}

function rowsOf(line: string, columns: number): number {
  return Math.max(1, Math.ceil(widthOf(line.replaceAll("\t", TAB)) / columns));
}
