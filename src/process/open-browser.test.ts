import { expect, test } from "vitest";
import { browserOpener } from "./open-browser.ts";

const TERMINAL = { TERM: "xterm" };
const X = { ...TERMINAL, DISPLAY: ":0" };

test.each([
  ["with X", X, "linux", "xdg-open"],
  ["with Wayland", { ...TERMINAL, WAYLAND_DISPLAY: "wayland-0" }, "linux", "xdg-open"],
  ["without a display", TERMINAL, "linux", undefined],
  ["with an empty display", { ...TERMINAL, DISPLAY: "" }, "linux", undefined],
  ["over SSH", { ...X, SSH_CONNECTION: "192.0.2.1 50000 192.0.2.2 22" }, "linux", undefined],
  ["in a job", { ...X, CI: "true" }, "linux", undefined],
  ["for an agent", { ...X, CLAUDECODE: "1" }, "linux", undefined],
  ["on macOS", TERMINAL, "darwin", "open"],
  ["on macOS over SSH", { ...TERMINAL, SSH_CONNECTION: "192.0.2.1 50000 192.0.2.2 22" }, "darwin", undefined],
] as const)("the program that opens the browser %s: %o on %s is %s", (_name, env, platform, opener) => {
  expect(browserOpener({ env, isTerminal: true, platform })).toBe(opener);
  expect(browserOpener({ env, isTerminal: false, platform })).toBeUndefined();
});
