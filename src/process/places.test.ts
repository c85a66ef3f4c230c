import { describe, expect, it } from "vitest";
import { placesOf } from "./places.ts";

const base = { env: {}, userHome: "/home/u", cwd: "/w", store: undefined };

describe("where things are kept", () => {
  it.each([
    [{}, undefined, "/home/u/.local/state/chronicle"],
    [{ XDG_STATE_HOME: "/s" }, undefined, "/s/chronicle"],
    [{ XDG_STATE_HOME: "" }, undefined, "/home/u/.local/state/chronicle"],
    [{ XDG_STATE_HOME: "/s", CHRONICLE_HOME: "/c" }, undefined, "/c"],
    [{ CHRONICLE_HOME: "" }, undefined, "/home/u/.local/state/chronicle"],
    [{ CHRONICLE_HOME: "/c" }, "mine", "/w/mine"],
  ])("%j with --store %s", (env, store, home) => {
    expect(placesOf({ ...base, env, store }).home).toBe(home);
  });

  it.each([
    [{ CHRONICLE_HOME: "here" }, undefined, "$CHRONICLE_HOME"],
    [{ CHRONICLE_HOME: "~/here" }, "/c", "$CHRONICLE_HOME"],
    [{ XDG_STATE_HOME: "relative" }, undefined, "$XDG_STATE_HOME"],
    [{ XDG_CONFIG_HOME: "relative" }, "/c", "$XDG_CONFIG_HOME"],
    [{}, "~/mine", "--store"],
    [{}, "", "--store"],
  ])("%j with --store %j is refused, with the name of the wrong setting", (env, store, named) => {
    const wrong = expect.objectContaining({ code: "USAGE", message: expect.stringContaining(named) });
    expect(() => placesOf({ ...base, env, store })).toThrow(wrong);
  });

  it.each([
    ["file:///stores/mine", "/stores/mine"],
    ["FILE://localhost/stores/with%20space/", "/stores/with space"],
    ["./s3:bucket", "/w/s3:bucket"],
    ["a/s3:bucket", "/w/a/s3:bucket"],
  ])("--store %s is the folder %s", (store, home) => {
    expect(placesOf({ ...base, store }).home).toBe(home);
  });

  it.each([
    "s3://bucket/store",
    "something:",
    "memory:two",
    "file:",
    "file:store",
    "file://host/x",
    "file:///a%2Fb",
    "file:///a#b",
    "file:///a?b",
  ])("--store %s is refused, with the supported schemes in the hint", (store) => {
    for (const goesOn of [false, true]) {
      expect(() => placesOf({ ...base, store, goesOn })).toThrow(
        expect.objectContaining({ code: "USAGE", hint: expect.stringContaining("file: and memory:") }),
      );
    }
  });

  it("--store memory: is only for a command that keeps running", () => {
    expect(placesOf({ ...base, store: "memory:", goesOn: true }).home).toBe("memory:");
    expect(() => placesOf({ ...base, store: "memory:" })).toThrow("--store memory: exists only until the command ends");
  });

  it.each(["", "home", "~"])("refuses the home folder %j", (userHome) => {
    expect(() => placesOf({ ...base, userHome })).toThrow("$HOME");
  });

  it("the configuration folder is in ~/.config, or in $XDG_CONFIG_HOME if that is set", () => {
    expect(placesOf(base).configFolder).toBe("/home/u/.config/chronicle");
    expect(placesOf({ ...base, env: { XDG_CONFIG_HOME: "/x" } }).configFolder).toBe("/x/chronicle");
  });
});
