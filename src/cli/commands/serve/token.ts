import { randomBytes } from "node:crypto";
import { inLocalZone } from "../../../process/local-zone.ts";
import { usageError } from "../../../process/usage-error.ts";
import { EXIT } from "../../../api/problems.ts";
import { type Role, ROLES } from "../../../api/routes/role.ts";
import { ChronicleError } from "../../../core/values/errors.ts";
import { meantBy } from "../../../core/values/meant-by.ts";
import { NodeDisk } from "../../../disk/node-disk.ts";
import { hashToken, isExpired, newToken, type TokenRecord } from "../../../server/callers/token.ts";
import type { CommandContext } from "../../support/context.ts";
import { placesOf } from "../../../process/places.ts";
import { columns } from "../../render/columns.ts";
import { minuteOf } from "../../render/words.ts";
import { printable } from "../../../process/printable.ts";
import { FileTokenStore } from "../../../daemon/file-token-store.ts";
import { optional } from "../../../util/optional.ts";

const ID_BYTES = 6;
const MAX_NAME = 100;

/** Matches the id of a replica: the id of the replica's own workspace. */
const REPLICA = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

const WORKSPACE = /^[A-Za-z0-9._:@-]{1,128}$/;

export async function token(context: CommandContext): Promise<number> {
  const { input } = context;
  const [what = "list", id] = input.args;
  if (id !== undefined && what !== "revoke")
    throw usageError(`token ${printable(what)} takes no argument: ${printable(id)}`, "chronicle token -h");
  if (what === "list") return list(context);
  await context.refuseAgent(`token ${printable(what)}`);
  if (what === "create") return create(context);
  if (what === "revoke") return revoke(context, id);
  throw usageError(`token does not know ${printable(what)}`, "the subcommands are create, list and revoke");
}

function bookOf({ io, input }: CommandContext): FileTokenStore {
  const inputs = { env: io.env, userHome: io.userHome, cwd: () => io.cwd(), store: input.text("store") };
  return new FileTokenStore(new NodeDisk(), placesOf(inputs).configFolder, () => io.now());
}

async function create(context: CommandContext): Promise<number> {
  const { input, io } = context;
  const role = roleOf(input.text("role"));
  const workspaces = input.list("workspace");
  for (const one of workspaces) {
    if (!WORKSPACE.test(one))
      throw usageError(
        `${printable(one)} is no workspace`,
        "give an id or a name, as `chronicle workspaces` lists them",
      );
  }
  const replicas = input.list("replica");
  for (const one of replicas) {
    if (!REPLICA.test(one))
      throw usageError(
        `${printable(one)} is no id of a replica`,
        "give the replica's whole id, as the origin's refusal names it",
      );
  }
  const made = newToken();
  const id = randomBytes(ID_BYTES).toString("hex");
  const record: TokenRecord = {
    id,
    name: nameOf(input.text("name"), role, id),
    role,
    workspaces: workspaces.length === 0 ? null : [...new Set(workspaces)],
    ...(replicas.length === 0 ? {} : { replicas: [...new Set(replicas)] }),
    hash: hashToken(made),
    created: new Date(io.now()).toISOString(),
    expires: expiryOf(input.text("expires"), io.now()),
  };
  bookOf(context).add(record);
  if (context.json) context.printJson({ token: made, ...shown(record) });
  else {
    context.print(made);
    const all = record.workspaces === null ? " (to limit a token to one workspace: --workspace NAME)" : "";
    context.say(
      `token ${id} for ${what(record)}${all}. It is shown only this once. To revoke it: ${context.worded(`chronicle token revoke ${id}`)}`,
    );
  }
  return EXIT.done;
}

function list(context: CommandContext): number {
  const all = bookOf(context).list();
  const now = context.io.now();
  if (context.json) context.printJson({ tokens: all.map(shown) });
  else if (all.length === 0)
    context.print(context.worded("no tokens: `chronicle token create --role reader` makes one"));
  else {
    const rows = all.map((one) => [one.id, one.role, printable(one.name), scope(one), until(one, now), bound(one)]);
    for (const line of columns(rows)) context.print(line);
  }
  return EXIT.done;
}

function revoke(context: CommandContext, id: string | undefined): number {
  if (id === undefined) throw usageError("revoke needs the id of a token", "chronicle token list");
  const book = bookOf(context);
  const matching = meantBy(book.list(), id, (one) => one.id);
  const [only] = matching;
  const data = { id };
  if (only === undefined) {
    throw new ChronicleError("NOT_FOUND", `there is no token ${printable(id)}`, { hint: "chronicle token list", data });
  }
  if (matching.length > 1) {
    throw new ChronicleError("AMBIGUOUS", `${matching.length} tokens have an id that begins with ${id}`, {
      hint: "give more of the id",
      data,
    });
  }
  book.remove(only.id);
  if (context.json) context.printJson(shown(only));
  else context.print(`revoked ${only.id} (${what(only)})`);
  return EXIT.done;
}

function roleOf(text: string | undefined): Role {
  const role = ROLES.find((one) => one === text);
  if (role !== undefined) return role;
  throw usageError(
    text === undefined ? "--role is needed" : `there is no role ${printable(text)}`,
    `the roles are ${ROLES.join(", ")}`,
  );
}

function nameOf(text: string | undefined, role: Role, id: string): string {
  const name = text ?? `${role}-${id}`;
  if (name.length <= MAX_NAME && /^[\x20-\x7e]+$/.test(name)) return name;
  throw usageError("a token's name has up to 100 printable ASCII characters", "choose another name");
}

/** Returns the part of a token that is shown: everything except its hash. */
function shown({ id, name, role, workspaces, replicas, created, expires }: TokenRecord): object {
  return { id, name, role, workspaces, ...optional({ replicas }), created, expires };
}

function what(record: TokenRecord): string {
  return `${record.role === "reader" ? "a" : "an"} ${record.role}, for ${scope(record)}`;
}

function scope({ workspaces }: TokenRecord): string {
  return workspaces === null ? "all workspaces" : workspaces.join(", ");
}

function bound({ replicas = [] }: TokenRecord): string {
  return replicas.length === 0 ? "" : `for replica ${replicas.join(", ")}`;
}

function until(record: TokenRecord, now: number): string {
  if (record.expires === null) return "no end";
  return `${isExpired(record, now) ? "ended" : "until"} ${minuteOf(record.expires)}`;
}

const UNITS_MS: Readonly<Record<string, number>> = { m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 };

/**
 * Returns the time at which a token expires, in ISO-8601. `text` is a duration from `now` (`30m`, `12h`, `30d`, `4w`)
 * or a date, optionally with a time. A time without a zone is in the user's zone. `now` is in epoch milliseconds. If
 * `text` is `undefined`, the token never expires, and the result is `null`. Throws `USAGE` for any other text, and for
 * a time that is not after `now`.
 */
export function expiryOf(text: string | undefined, now: number): string | null {
  if (text === undefined) return null;
  const [, count, unit = ""] = /^(\d{1,6})([mhdw])$/.exec(text) ?? [];
  const factor = UNITS_MS[unit];
  const at = factor === undefined ? Date.parse(inLocalZone(text)) : now + Number(count) * factor;
  const isDate = factor !== undefined || /^\d{4}-\d{2}-\d{2}/.test(text);
  if (!isDate || Number.isNaN(at)) throw usageError(`${text} is no time`, "as in --expires 12h, 30d or 2027-01-31");
  if (at <= now) throw usageError(`${text} is in the past`, "give a later time");
  return new Date(at).toISOString();
}
