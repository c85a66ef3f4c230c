import { ChronicleError } from "../core/values/errors.ts";
import type { HeadKeeper } from "../engine/log/context.ts";

/**
 * For the copy of somebody else's history: we sign no heads of it, and those that are kept under its name are the origin's
 * own, where both lie on one machine. What the origin signs is held against the copy by the replica's witness.
 */
export const NO_HEADS: HeadKeeper = {
  keyFile: "",
  verifierKey: () => undefined,
  makeKey: refuse,
  last: () => undefined,
  first: () => undefined,
  signFirst: refuse,
  keep: refuse,
  replace: refuse,
  former: () => [],
  retire: () => undefined,
  sign: refuse,
};

function refuse(): never {
  throw new ChronicleError("READ_ONLY", "heads of an origin's history are signed by the origin", {
    hint: "ask there, or leave out --upstream for the head of the replica's own history",
  });
}
