import type { HeadShape } from "../api/shapes.ts";
import { ChronicleError } from "../core/errors.ts";
import { frontierRoot } from "../core/log-tree.ts";
import type { Context, HeadToSign } from "./context.ts";
import { rootAtHead } from "./tree.ts";

/** How long recorded work may stay without a kept head, in ms. */
const KEEP_EVERY_MS = 1_000;

/** The head of the history, as it is signed. Throws `NOT_FOUND` for an empty history. */
async function headNow(context: Context): Promise<HeadToSign> {
  const head = await context.index.head();
  if (head.hash === "") {
    throw new ChronicleError("NOT_FOUND", "nothing is recorded yet, so there is no head", {
      hint: "run `chronicle init`",
    });
  }
  return {
    workspaceId: context.workspaceId,
    seq: head.seq,
    hash: head.hash,
    logRoot: frontierRoot(head.frontier),
    root: await rootAtHead(context, head.seq),
  };
}

/** Signs the head and keeps it apart from the store, unless it is kept already. */
export async function keepHead(context: Context): Promise<void> {
  const { seq, hash } = await context.index.head();
  const last = context.heads.last(context.workspaceId);
  if (seq === 0 || (last?.valid === true && last.seq === seq && last.hash === hash)) return;
  context.heads.keep(await headNow(context));
}

/** How soon another workspace's may follow, in ms: each is a file that is synced, and hundreds can be busy at once. */
const KEEP_ONE_EVERY_MS = 100;
/** Keeping heads takes one part in so many of a busy process's time: on a slow disk each takes long … */
const KEEPING_SHARE = 40;
/** … but it is not put off for longer than this, in ms, whatever the clock says. */
const PUT_OFF_MS = 5_000;

const kept = new WeakMap<Context, number>();
/** When any workspace's may be kept next. */
const nextAny = new WeakMap<object, number>();

/** Keeps the head if the last time is a second ago: called after each commit, so that busy times leave heads too. */
export async function keepHeadNowAndThen(context: Context): Promise<void> {
  const now = context.now();
  const last = kept.get(context);
  if (last === undefined) {
    kept.set(context, now);
    return;
  }
  if (now - last < KEEP_EVERY_MS || now < (nextAny.get(context.heads) ?? 0)) return;
  kept.set(context, now);
  // Nobody else's meanwhile.
  nextAny.set(context.heads, now + KEEP_ONE_EVERY_MS);
  await keepHead(context);
  const end = context.now();
  const rest = Math.min((end - now) * KEEPING_SHARE, PUT_OFF_MS);
  nextAny.set(context.heads, end + Math.max(KEEP_ONE_EVERY_MS, rest));
}

/** The signed head, for people and programs. */
export async function showHead(context: Context): Promise<HeadShape> {
  const head = await headNow(context);
  const signed = context.heads.sign(head);
  return {
    workspace: context.workspaceId,
    seq: head.seq,
    hash: head.hash,
    log_root: head.logRoot,
    root: head.root,
    note: signed.note,
    key: signed.key,
  };
}
