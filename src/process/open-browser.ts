import { spawn } from "node:child_process";
import { isUnattended } from "./pager.ts";

/**
 * The time, in milliseconds, for which a failure of the opener is awaited. An opener that still runs afterwards counts
 * as successful, because some openers run until the browser ends.
 */
const FAIL_MS = 1_500;

type Environment = Readonly<Record<string, string | undefined>>;

interface Screen {
  readonly env: Environment;
  /** True if stdin and stderr are a terminal. */
  readonly isTerminal: boolean;
  readonly platform: NodeJS.Platform;
}

/**
 * Returns the program that opens an address in the user's browser. Returns `undefined` if nobody would see that
 * browser: without a terminal, in a CI job, for an agent, over SSH, and on Linux without a display.
 */
export function browserOpener({ env, isTerminal, platform }: Screen): string | undefined {
  const has = (name: string): boolean => (env[name] ?? "") !== "";
  if (!isTerminal || isUnattended(env) || has("SSH_CONNECTION")) return undefined;
  if (platform === "darwin") return "open";
  return has("DISPLAY") || has("WAYLAND_DISPLAY") ? "xdg-open" : undefined;
}

/**
 * Opens an address in the user's browser, without a shell. Resolves to the reason why the address could not be opened,
 * or to `undefined` if no failure was noticed.
 */
export function openBrowser(opener: string, url: string, env: Environment): Promise<string | undefined> {
  const { promise, resolve } = Promise.withResolvers<string | undefined>();
  const child = spawn(opener, [url], { env: { ...env }, detached: true, stdio: "ignore" });
  const timer = setTimeout(() => resolve(undefined), FAIL_MS);
  child.on("error", (error) => resolve(error.message));
  child.on("exit", (code, signal) => resolve(code === 0 ? undefined : `${opener} ended with ${code ?? signal}`));
  child.unref();
  return promise.finally(() => clearTimeout(timer));
}
