import { describe, expect, it } from "vitest";
import { withGlobalOptions } from "./with-global-options.ts";

function worded(options: Readonly<Record<string, string>>): (text: string) => string {
  return withGlobalOptions({ text: (name) => options[name] });
}

describe("a command that is printed", () => {
  it("is unchanged if no global option was given", () => {
    expect(worded({})("take it back: chronicle undo")).toBe("take it back: chronicle undo");
  });

  it.each([
    [{ workspace: "session-17" }, "take it back: chronicle undo", "take it back: chronicle -w session-17 undo"],
    [{ workspace: "it's" }, "chronicle rm -r src", `chronicle -w 'it'\\''s' rm -r src`],
    [
      { store: "/tmp/s" },
      "run `chronicle verify`, then `chronicle gc`",
      "run `chronicle --store /tmp/s verify`, then `chronicle --store /tmp/s gc`",
    ],
    [
      { workspace: "w" },
      "`chronicle gc` frees it; see `chronicle log`",
      "`chronicle gc` frees it; see `chronicle -w w log`",
    ],
    [{ remote: "unix:#w" }, "chronicle redo", "chronicle --remote 'unix:#w' redo"],
    [{ remote: "" }, "chronicle redo", "chronicle --remote '' redo"],
    [
      { remote: "http://h:1", tokenFile: "t" },
      "chronicle undo; chronicle token list",
      "chronicle --remote http://h:1 --token-file t undo; chronicle token list",
    ],
    [{ store: "memory:" }, "chronicle token create", "chronicle token create"],
    [{ directory: "../p", workspace: "w" }, "chronicle undo", "chronicle -C ../p -w w undo"],
    [{ store: "s", workspace: "w" }, "chronicle -w 01AB restore now", "chronicle --store s -w 01AB restore now"],
    [
      { workspace: "w" },
      "chronicle: 3 changes; chronicle -h, chronicle completion bash, chronicle undone",
      "chronicle: 3 changes; chronicle -h, chronicle completion bash, chronicle undone",
    ],
  ])("repeats the options %j where they apply", (options, text, expected) => {
    expect(worded(options)(text)).toBe(expected);
  });
});
