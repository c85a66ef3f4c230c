import { chmodSync, readdirSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { expiryOf } from "../../src/cli/commands/serve/token.ts";
import { FileTokenStore } from "../../src/daemon/file-token-store.ts";
import { remoteToken } from "../../src/cli/remote/remote-token.ts";
import { operatorToken } from "../../src/cli/serving/operator-token.ts";
import { NodeDisk } from "../../src/disk/node-disk.ts";
import { Authenticator } from "../../src/server/callers/authenticate.ts";
import { MemoryTokenStore, hashToken, type TokenStore, type TokenRecord } from "../../src/server/callers/token.ts";
import { Sandbox } from "./sandbox.ts";

/** The command `chronicle token`, and the places of tokens. */

const configOf = (sandbox: Sandbox): string => join(sandbox.env()["XDG_CONFIG_HOME"] ?? "", "chronicle");

describe("chronicle token", () => {
  it("shows a token once, keeps its hash, lists it, revokes it", async () => {
    using sandbox = new Sandbox();
    const made = await sandbox.must([
      "token",
      "create",
      "--role",
      "agent",
      "--workspace",
      "s-42",
      "--name",
      "ci",
      "--expires",
      "30d",
    ]);
    const token = made.stdout.trim();
    expect(token).toMatch(/^chr_[A-Za-z0-9_-]{43}$/);
    expect(made.stderr).not.toContain(token);
    const folder = join(configOf(sandbox), "tokens");
    expect(statSync(folder).mode & 0o777).toBe(0o700);
    const [file = ""] = readdirSync(folder);
    expect(statSync(join(folder, file)).mode & 0o777).toBe(0o600);
    const kept = readFileSync(join(folder, file), "utf8");
    expect(kept).not.toContain(token);
    expect(kept).toContain(hashToken(token));
    const { value } = await sandbox.json(["token", "list"]);
    expect(value).toMatchObject({ tokens: [{ name: "ci", role: "agent", workspaces: ["s-42"] }] });
    expect(JSON.stringify(value)).not.toContain("hash");
    const id = file.replace(".json", "");
    expect((await sandbox.must(["token", "list"])).stdout).toMatch(
      new RegExp(`^${id}  agent  ci  s-42  until \\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\dZ`),
    );
    expect((await sandbox.must(["token", "revoke", id.slice(0, 4)])).stdout).toBe(
      `revoked ${id} (an agent, for s-42)\n`,
    );
    expect((await sandbox.must(["token", "list"])).stdout).toMatch(/^no tokens/);
  });

  it("makes a token for several replicas", async () => {
    using sandbox = new Sandbox();
    const create = ["token", "create", "--role", "agent", "--replica"];
    const [one, two] = ["0fd1a2b3-0000-4000-8000-000000000001", "0fd1a2b3-0000-4000-8000-000000000002"];
    await sandbox.must([...create, one, "--replica", two, "--replica", one]);
    expect((await sandbox.json(["token", "list"])).value).toMatchObject({ tokens: [{ replicas: [one, two] }] });
    expect((await sandbox.must(["token", "list"])).stdout).toContain(`no end  for replica ${one}, ${two}`);
    for (const wrong of ["nonsense", "0fd1a2b3"])
      expect((await sandbox.call([...create, wrong])).stderr).toContain(`${wrong} is no id of a replica`);
    const book = new FileTokenStore(new NodeDisk(), configOf(sandbox), () => Date.now());
    expect(book.list()).toMatchObject([{ replicas: [one, two] }]);
  });

  it("reports that a token without --workspace is for all workspaces; `token` alone lists", async () => {
    using sandbox = new Sandbox();
    const { stderr } = await sandbox.must(["token", "create", "--role", "reader"]);
    expect(stderr).toMatch(
      /^token [0-9a-f]{12} for a reader, for all workspaces \(to limit a token to one workspace: --workspace NAME\)\. /,
    );
    expect((await sandbox.must(["token"])).stdout).toContain("all workspaces");
  });

  it.each([
    [["create"], 2, "--role is needed"],
    [["create", "--role", "king"], 2, "no role king"],
    [["create", "--role", "reader", "--workspace", "../x"], 2, "no workspace"],
    [["create", "--role", "reader", "--expires", "soon"], 2, "no time"],
    [["create", "--role", "reader", "--expires", "2001-01-01"], 2, "in the past"],
    [["create", "--role", "reader", "--name", "a\nb"], 2, "printable"],
    [["list", "x"], 2, "takes no"],
    [["revoke"], 2, "needs the id"],
    [["revoke", "nope"], 3, "no token nope"],
    [["steal"], 2, "does not know"],
  ])("refuses %j with a message that names the mistake", async (words, code, text) => {
    using sandbox = new Sandbox();
    const ran = await sandbox.call(["token", ...words]);
    expect([ran.code, ran.stderr]).toEqual([code, expect.stringContaining(text)]);
  });

  it.each(["create", "revoke"])("is refused to an agent: %s", async (what) => {
    using sandbox = new Sandbox();
    const ran = await sandbox.call(["token", what, "--role", "operator"], { env: { CHRONICLE_ROLE: "agent" } });
    expect([ran.code, ran.stdout]).toEqual([6, ""]);
  });
});

describe.each([
  ["in memory", (): TokenStore => new MemoryTokenStore()],
  ["in files", (sandbox: Sandbox): TokenStore => new FileTokenStore(new NodeDisk(), sandbox.folder, () => Date.now())],
] as const)("a book of tokens %s", (_name, make) => {
  it("finds by hash, lists in order, and removes once", () => {
    using sandbox = new Sandbox();
    const book = make(sandbox);
    const of = (n: number): TokenRecord => {
      const created = new Date(n * 1000).toISOString();
      return { id: `t${n}`, name: "n", role: "reader", workspaces: [`w${n}`], hash: `h${n}`, created, expires: null };
    };
    expect([book.list(), book.find("h1"), book.remove("t1")]).toEqual([[], undefined, false]);
    for (const n of [1, 2, 3]) book.add(of(n));
    expect(book.find("h2")).toEqual(of(2));
    expect(book.list()).toEqual([of(1), of(2), of(3)]);
    expect([book.remove("t2"), book.remove("t2"), book.find("h2")]).toEqual([true, false, undefined]);
    expect(book.list()).toEqual([of(1), of(3)]);
  });
});

describe("tokens in files", () => {
  const record = {
    name: "n",
    role: "reader",
    workspaces: null,
    created: "2026-01-01T00:00:00.000Z",
    expires: null,
  } as const;

  it("are seen immediately by a running server, also within one tick of the clock", () => {
    using sandbox = new Sandbox();
    const server = new FileTokenStore(new NodeDisk(), sandbox.folder, () => Date.now());
    const command = new FileTokenStore(new NodeDisk(), sandbox.folder, () => Date.now());
    for (let n = 0; n < 50; n += 1) {
      command.add({ ...record, id: `t${n}`, hash: `h${n}` });
      expect(server.find(`h${n}`)?.id).toBe(`t${n}`);
      if (n % 2 === 0) command.remove(`t${n}`);
      expect(server.find(`h${n}`) === undefined).toBe(n % 2 === 0);
    }
  });

  it("are not read from files that are no valid record", () => {
    using sandbox = new Sandbox();
    const book = new FileTokenStore(new NodeDisk(), sandbox.folder, () => Date.now());
    book.add({ ...record, id: "good", hash: "h" });
    const folder = join(sandbox.folder, "tokens");
    const bad = [
      { ...record, id: "x", hash: "x", role: "god" },
      { ...record, id: "y", hash: "y", workspaces: "all" },
      { ...record, id: "z", hash: "z", expires: "x" },
      null,
    ];
    for (const [n, one] of bad.entries()) writeFileSync(join(folder, `bad${n}.json`), JSON.stringify(one));
    writeFileSync(join(folder, "half.json"), '{"id":');
    writeFileSync(join(folder, "notes.txt"), "hello");
    expect(book.list().map(({ id }) => id)).toEqual(["good"]);
  });
});

describe("the operator's token", () => {
  const disk = new NodeDisk();

  it("is the given one, otherwise that of a file, otherwise one that is made and kept", () => {
    using sandbox = new Sandbox();
    const configFolder = join(sandbox.folder, "deep/config");
    const given = "x".repeat(24);
    expect(operatorToken(disk, { given, file: undefined, configFolder })).toEqual({
      token: given,
      from: "$CHRONICLE_TOKEN",
    });
    const made = operatorToken(disk, { given: undefined, file: undefined, configFolder });
    expect(made).toEqual({ token: expect.stringMatching(/^chr_/), from: join(configFolder, "operator.token") });
    expect(statSync(made.from).mode & 0o777).toBe(0o600);
    expect(operatorToken(disk, { given: "", file: undefined, configFolder })).toEqual(made);
    const file = join(sandbox.folder, "t");
    writeFileSync(file, `${"y".repeat(30)}\n`, { mode: 0o600 });
    expect(operatorToken(disk, { given: undefined, file, configFolder }).token).toBe("y".repeat(30));
  });

  it("is one and the same for two servers that start for the first time at the same moment", () => {
    using sandbox = new Sandbox();
    const places = { given: undefined, file: undefined, configFolder: join(sandbox.folder, "config") };
    const late = new NodeDisk();
    const open = late.open.bind(late);
    let other: string | undefined;
    // The other server does everything after this server has looked for the file, and before it makes one.
    late.open = (...args) => {
      if (args[1] === "create") other ??= operatorToken(disk, places).token;
      return open(...args);
    };
    const own = operatorToken(late, places);
    expect(own.token).toBe(other);
    expect(readFileSync(own.from, "utf8").trim()).toBe(other);
    expect(readdirSync(places.configFolder)).toEqual(["operator.token"]);
  });

  it("must not be a token from the list of tokens, although server and clients read the same variable", async () => {
    using sandbox = new Sandbox();
    const made = await sandbox.must(["token", "create", "--role", "reader"]);
    const given = made.stdout.trim();
    const configFolder = configOf(sandbox);
    const ask = (places: object) => () => operatorToken(disk, { given, file: undefined, configFolder, ...places });
    expect(ask({})).toThrow(/is in the list of tokens, with the role reader/);
    const file = join(sandbox.folder, "t");
    writeFileSync(file, given, { mode: 0o600 });
    expect(ask({ given: undefined, file })).toThrow(/is in the list of tokens/);
    const book = new FileTokenStore(disk, configFolder, () => Date.now());
    const authenticator = new Authenticator({ book, operatorToken: given, now: () => Date.now() });
    expect(await authenticator.callerOf(`Bearer ${given}`, "here")).toMatchObject({ role: "reader" });
  });

  it("is refused if it is short or has spaces, or if others can read its file", () => {
    using sandbox = new Sandbox();
    const file = join(sandbox.folder, "t");
    const ask = (given?: string) => operatorToken(disk, { given, file, configFolder: sandbox.folder });
    expect(() => ask("short")).toThrow(/24 characters/);
    expect(() => ask("with a space in the middle of it")).toThrow(/24 characters/);
    expect(() => ask()).toThrow(/there is no/);
    writeFileSync(file, "y".repeat(30), { mode: 0o644 });
    expect(() => ask()).toThrow(/others can read/);
  });

  it("may be in a file behind a link, as may a client's: the permissions of the file count", () => {
    using sandbox = new Sandbox();
    const [file, link] = [join(sandbox.folder, "t"), join(sandbox.folder, "link")];
    const token = "y".repeat(30);
    writeFileSync(file, token, { mode: 0o600 });
    symlinkSync("t", link);
    const operators = (): string =>
      operatorToken(disk, { given: undefined, file: link, configFolder: sandbox.folder }).token;
    const clients = (): string | undefined => remoteToken({ file: link, given: undefined, cwd: () => sandbox.folder });
    expect([operators(), clients()]).toEqual([token, token]);
    chmodSync(file, 0o644);
    for (const read of [operators, clients]) expect(read).toThrow(/others can read/);
    rmSync(file);
    expect(operators).toThrow(/there is no/);
  });
});

describe("the end of a token", () => {
  const now = Date.parse("2026-01-01T00:00:00Z");
  it.each([
    ["30m", "2026-01-01T00:30:00.000Z"],
    ["12h", "2026-01-01T12:00:00.000Z"],
    ["30d", "2026-01-31T00:00:00.000Z"],
    ["2w", "2026-01-15T00:00:00.000Z"],
    ["2027-01-31", "2027-01-31T00:00:00.000Z"],
    [undefined, null],
  ])("%s", (text, at) => {
    expect(expiryOf(text, now)).toBe(at);
  });
});
