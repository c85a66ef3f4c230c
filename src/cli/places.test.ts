import { describe, expect, it } from "vitest";
import { placesOf } from "./places.ts";

const base = { env: {}, userHome: "/home/u", cwd: "/w", store: undefined };

describe("where things are kept", () => {
  it.each([
    [{}, undefined, "/home/u/.local/state/chronicle"],
    [{ XDG_STATE_HOME: "/s" }, undefined, "/s/chronicle"],
    [{ XDG_STATE_HOME: "relative" }, undefined, "/home/u/.local/state/chronicle"],
    [{ XDG_STATE_HOME: "/s", CHRONICLE_HOME: "/c" }, undefined, "/c"],
    [{ CHRONICLE_HOME: "" }, undefined, "/home/u/.local/state/chronicle"],
    [{ CHRONICLE_HOME: "here" }, undefined, "/w/here"],
    [{ CHRONICLE_HOME: "/c" }, "mine", "/w/mine"],
  ])("%j with --store %s", (env, store, home) => {
    expect(placesOf({ ...base, env, store }).home).toBe(home);
  });

  it("keeps the key in the configuration folder", () => {
    expect(placesOf(base).configFolder).toBe("/home/u/.config/chronicle");
    expect(placesOf({ ...base, env: { XDG_CONFIG_HOME: "/x" } }).configFolder).toBe("/x/chronicle");
  });
});
