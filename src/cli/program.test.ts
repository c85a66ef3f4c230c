import { describe, expect, it } from "vitest";
import { COMMANDS } from "./table/command-table.ts";
import { ChronicleError } from "../core/values/errors.ts";
import { CHRONICLE_VALUED, WRITING_VERBS, PERSONS_VERBS } from "../core/shell/persons-commands.ts";
import { loadAction } from "./run-cli.ts";
import { parseCommandLine } from "./program.ts";
import { GLOBAL_OPTIONS } from "./table/spec.ts";

function parse(line: readonly string[], columns = 80) {
  let printed = "";
  const sink = { columns, colours: false, write: (text: string) => void (printed += text) };
  const parsed = parseCommandLine(line, "1.2.3", sink);
  return { name: parsed?.spec?.name, options: parsed?.options ?? {}, args: parsed?.args ?? [], printed };
}

function errorOf(line: readonly string[]): ChronicleError {
  try {
    parse(line);
  } catch (error) {
    if (error instanceof ChronicleError) return error;
    throw error;
  }
  throw new Error(`understood: ${line.join(" ")}`);
}

describe("a command line", () => {
  const understood: readonly (readonly [string[], string | undefined, Record<string, unknown>, string[]])[] = [
    [[], undefined, {}, []],
    [["--json"], undefined, { json: true }, []],
    [["status"], "status", {}, []],
    [["--json", "status"], "status", { json: true }, []],
    [["status", "--json"], "status", { json: true }, []],
    [["-C", "a", "status", "--store", "b"], "status", { directory: "a", store: "b" }, []],
    [["--no-color", "status"], "status", { color: false }, []],
    [["status", "--wait", "0.5"], "status", { wait: 0.5 }, []],
    [["--wait", "3", "status"], "status", { wait: 3 }, []],
    [["run", "--", "sh", "-c", "x", "--json"], "run", {}, ["sh", "-c", "x", "--json"]],
    [["run", "npm", "test", "--json"], "run", {}, ["npm", "test", "--json"]],
    [["run", "--json", "npm", "--", "x"], "run", { json: true }, ["npm", "--", "x"]],
    [["run", "--note", "a", "--note", "b", "--", "x"], "run", { note: ["a", "b"] }, ["x"]],
    [["run", "--rollback-on-failure", "--otr", "x"], "run", { rollbackOnFailure: true, otr: true }, ["x"]],
    [["snapshot", "-m", "--json"], "snapshot", { message: "--json" }, []],
    [["snapshot", "-m", "-C x", "--pin"], "snapshot", { message: "-C x", pin: true }, []],
    [["init", "a", "b", "--exclude", "x", "--exclude", "y"], "init", { exclude: ["x", "y"] }, ["a", "b"]],
    [["init", "--max-bytes", "2GiB"], "init", { maxBytes: 2 * 1024 ** 3 }, []],
    [["init", "--max-bytes=500M", "--max-entries", "0"], "init", { maxBytes: 500 * 1024 ** 2, maxEntries: 0 }, []],
    [["init", "--no-gitignore"], "init", { gitignore: false }, []],
    [["init"], "init", { gitignore: true }, []],
    [["diff", "3", "5", "--", "-x"], "diff", {}, ["3", "5", "-x"]],
    [["diff", "latest~2", "-p"], "diff", { patch: true }, ["latest~2"]],
    [["restore", "10m", "src", "--to", "d", "--dry-run"], "restore", { to: "d", dryRun: true }, ["10m", "src"]],
    [["undo", "--force", "-y"], "undo", { force: true, yes: true }, []],
    [["cat", "a@3"], "cat", {}, ["a@3"]],
    [["cat", "-n", "2", "--", "--odd@3"], "cat", { iteration: 2 }, ["--odd@3"]],
    [["log", "--from", "3", "--reverse"], "log", { from: 3, reverse: true }, []],
    [["config", "excludePatterns", "a", "b"], "config", {}, ["excludePatterns", "a", "b"]],
    [["verify", "--expect", "-"], "verify", { expect: "-" }, []],
    [["--limit", "3"], "list", { limit: 3 }, []],
    [["-C", "a", "--limit=3", "--actions"], "list", { directory: "a", limit: 3, actions: true }, []],
    [["log", "--limit", "3"], "log", { limit: 3 }, []],
  ];

  it.each(understood)("%j", (line, name, options, args) => {
    const parsed = parse(line);
    expect(parsed.name).toBe(name);
    expect(parsed.options).toMatchObject(options);
    expect(parsed.args).toEqual(args);
    if (options["json"] === undefined) expect(parsed.options["json"]).toBeUndefined();
  });

  const refused: readonly (readonly [string[], RegExp, RegExp])[] = [
    [["staus"], /unknown command 'staus'/, /did you mean: chronicle status/],
    [["nmp", "--limit", "3"], /unknown command 'nmp'/, /help: chronicle/],
    [["--jsno"], /unknown option '--jsno'/, /--json/],
    [["npm"], /unknown command 'npm'/, /chronicle run -- npm/],
    [["commit", "-m", "x"], /unknown command 'commit'/, /the same here: `chronicle snapshot -m TEXT`/],
    [["uninstall"], /unknown command 'uninstall'/, /the same here: `chronicle agents uninstall`/],
    [["stash"], /unknown command 'stash'/, /the same here: `chronicle snapshot --name NAME`/],
    [["create_baseline"], /unknown command 'create_baseline'/, /the same here: `chronicle init`/],
    [["constructor"], /unknown command 'constructor'/, /chronicle run -- constructor/],
    [["restore"], /missing required argument 'moment'/, /usage: chronicle restore/],
    [["help", "nonsense"], /no such command/, /chronicle -h/],
    [["status", "extra"], /too many arguments/, /usage: chronicle status/],
    [["status", "--jsno"], /unknown option '--jsno'/, /--json/],
    [["log", "--limit", "-1"], /whole number/, /usage: chronicle log/],
    [["log", "--limit", "1e3"], /whole number/, /usage/],
    [["init", "--max-bytes", "much"], /size/, /usage/],
    [["--wait", "soon", "status"], /number of seconds/, /usage/],
    [["snapshot", "-m"], /argument missing/, /usage/],
  ];

  it.each(refused)("refused: %j", (line, message, hint) => {
    const error = errorOf(line);
    expect(error.code).toBe("USAGE");
    expect(error.message).toMatch(message);
    expect(error.hint).toMatch(hint);
  });

  it("prints help, and the version", () => {
    expect(parse(["--version"]).printed).toBe("1.2.3\n");
    for (const spec of COMMANDS.filter((item) => item.hidden !== true)) {
      for (const line of [
        [spec.name, "-h"],
        [spec.name, "--help"],
        ["help", spec.name],
      ]) {
        const { name, printed } = parse(line);
        expect(name).toBeUndefined();
        expect(printed).toContain(`Usage: chronicle ${spec.name}`);
        expect(printed).toContain("Examples:");
        expect(printed).toContain("--json");
      }
    }
  });

  it("names every command in the help", () => {
    const { printed } = parse(["-h"], 200);
    for (const spec of COMMANDS) {
      const line = `  ${spec.name} `;
      if (spec.hidden === true) expect(printed).not.toContain(line);
      else expect(printed).toContain(line);
    }
  });
});

describe("the table", () => {
  it("has code for every command", async () => {
    for (const spec of COMMANDS) expect(await loadAction(spec.name)).toBeTypeOf("function");
  });

  it("has examples that its own parser understands", () => {
    for (const { line } of COMMANDS.flatMap((spec) => spec.examples)) {
      for (const part of line.split("; ").filter((piece) => piece.startsWith("chronicle"))) {
        // A word stands in quotes or between blanks.
        const words = [...part.replace(/ > .*$/, "").matchAll(/'([^']*)'|"([^"]*)"|(\S+)/g)];
        expect(() => parse(words.map(([all, one, two]) => one ?? two ?? all).slice(1))).not.toThrow();
      }
    }
  });
});

describe("the rules by which the hooks read a command line", () => {
  it("list exactly those options of a person's verbs that take a value", () => {
    const specs = COMMANDS.filter(({ name }) => PERSONS_VERBS.has(name));
    expect(specs.map(({ name }) => name).toSorted()).toEqual([...PERSONS_VERBS.keys()].toSorted());
    const flags = [GLOBAL_OPTIONS, ...specs.map(({ options }) => options)].flat().map((option) => option.flags);
    const names = (line: string): string[] => line.match(/(?<![\w-])--?[a-zA-Z][a-z-]*/g) ?? [];
    const valued = flags.filter((line) => line.includes("<")).flatMap(names);
    expect([...CHRONICLE_VALUED].toSorted()).toEqual([...new Set(valued)].toSorted());
    // No option that takes a value has the name of an option without a value.
    const plain = flags.filter((line) => !line.includes("<")).flatMap(names);
    expect(plain.filter((name) => CHRONICLE_VALUED.has(name))).toEqual([]);
  });

  it("list exactly those options that take a value, for each verb that writes to a named place", () => {
    for (const [name, { valued }] of WRITING_VERBS) {
      const options = COMMANDS.find((spec) => spec.name === name)?.options ?? [];
      const flags = options.map((option) => option.flags).filter((line) => line.includes("<"));
      const names = flags.flatMap((line) => line.match(/(?<![\w-])--?[a-zA-Z][a-z-]*/g) ?? []);
      expect([name, [...valued].toSorted()]).toEqual([name, names.toSorted()]);
      const plain = options.flatMap((option) => (option.flags.includes("<") ? [] : option.flags.split(", ")));
      expect(plain.filter((flag) => CHRONICLE_VALUED.has(flag))).toEqual([]);
    }
  });

  it("agree with the parser: the value of an option stays a value, even if it looks like another option", () => {
    expect(parse(["erase", "x", "-y", "--reason", "-n"]).options).toMatchObject({ reason: "-n" });
    expect(parse(["erase", "x", "-y", "--reason", "--help"])).toMatchObject({ name: "erase", printed: "" });
    expect(parse(["erase", "-y", "--", "--help"])).toMatchObject({ name: "erase", args: ["--help"], printed: "" });
    expect(parse(["erase", "x", "-yn"]).options).toMatchObject({ dryRun: true });
    expect(parse(["prune", "-Cnow"]).options).toMatchObject({ directory: "now" });
    expect(parse(["prune", "-Cnow"]).options).not.toHaveProperty("dryRun");
    expect(parse(["-C", "a", "run", "-C", "b", "x"]).options).toMatchObject({ directory: "b" });
    expect(parse(["run", "--note", "--", "x"])).toMatchObject({ options: { note: ["--"] }, args: ["x"] });
  });
});
