import { ChronicleError } from "../core/values/errors.ts";
import type { HeadKeeper } from "../engine/log/context.ts";

/**
 * The heads of a copy of another machine's history: there are none. We sign no heads of it, and those kept under its
 * name are the origin's own, if both lie on one machine. The replica's witness checks the copy against what the origin
 * signs.
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
