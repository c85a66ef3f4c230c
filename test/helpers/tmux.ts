import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { vi } from "vitest";

/** Timeout and interval of waiting, in milliseconds. A busy shell may be slow to answer. */
const PATIENCE = { timeout: 60_000, interval: 50 };

/** A shell in a terminal (tmux). Input arrives like a person's keys, and `screen` is what a person sees. */
export class TmuxTerminal implements Disposable {
  readonly #base = mkdtempSync(join(tmpdir(), "chronicle-tmux-"));
  readonly #env: NodeJS.ProcessEnv;

  /** `env`: the whole environment of the shell, apart from variables that the terminal needs. */
  constructor(folder: string, env: Readonly<Record<string, string | undefined>>, columns = 100) {
    this.#env = { ...env, PS1: "$ ", TERM: "xterm-256color", HISTFILE: "" };
    const rc = join(this.#base, "rc");
    writeFileSync(rc, "PS1='$ '\nset -o emacs\n");
    this.#tmux(
      "new-session",
      "-d",
      "-x",
      String(columns),
      "-y",
      "40",
      "-c",
      folder,
      `exec bash --noprofile --rcfile ${rc}`,
    );
  }

  /** Returns the reason why this machine cannot make such a terminal. `undefined` if it can. */
  static whyNot(): string | undefined {
    return spawnSync("tmux", ["-V"]).status === 0 ? undefined : "needs tmux";
  }

  /** Waits for the prompt of the shell. */
  async prompt(): Promise<void> {
    await this.until(/(?:^|\n)\$$/);
  }

  /** Types a text and Enter. */
  line(text: string): void {
    this.type(text);
    this.press("Enter");
  }

  /** Types a text literally. */
  type(text: string): void {
    this.#tmux("send-keys", "-l", text);
  }

  /** Presses keys by their names: `Enter`, `Escape`, `C-c`, `C-z`. */
  press(...keys: readonly string[]): void {
    this.#tmux("send-keys", ...keys);
  }

  /** The text of the screen and its scrollback. Wrapped lines are joined. */
  get screen(): string {
    const text = this.#tmux("capture-pane", "-p", "-J", "-S", "-2000").trimEnd();
    return text.replaceAll(/ +$/gm, "");
  }

  /** The text of the window alone, without the scrollback. No-break spaces are plain ones. */
  get window(): string {
    return this.#tmux("capture-pane", "-p").replaceAll("\u00a0", " ").replaceAll(/ +$/gm, "");
  }

  /** Waits until the screen matches. */
  async until(shown: RegExp, timeout = PATIENCE.timeout): Promise<void> {
    await vi.waitFor(() => mustShow(this.screen, shown), { ...PATIENCE, timeout });
  }

  /** Waits until the window matches. What has scrolled away does not count. */
  async untilVisible(shown: RegExp, timeout = PATIENCE.timeout): Promise<void> {
    await vi.waitFor(() => mustShow(this.window, shown), { ...PATIENCE, timeout });
  }

  [Symbol.dispose](): void {
    this.#tmux("kill-server");
    rmSync(this.#base, { recursive: true, force: true });
  }

  #tmux(...words: readonly string[]): string {
    const first = ["-S", join(this.#base, "socket"), "-f", "/dev/null"];
    const ran = spawnSync("tmux", [...first, ...words], { env: this.#env, encoding: "utf8" });
    if (ran.status !== 0) throw new Error(`tmux ${words.join(" ")}: ${ran.stderr}`);
    return ran.stdout;
  }
}

function mustShow(text: string, shown: RegExp): void {
  if (!shown.test(text)) throw new Error(`no ${String(shown)} on:\n${text}`);
}
