import type { Head } from "../../core/values/event.ts";
import { PROTOCOL_VERSION } from "../protocol/limits.ts";
import type { MessageOf } from "../protocol/messages.ts";
import type { Capability } from "../protocol/capabilities.ts";
import { optional } from "../../util/optional.ts";

/** A replica's description of itself. */
interface Introduction {
  readonly sandboxId: string;
  readonly workspace?: string;
  readonly asked?: string;
  readonly token?: string;
  readonly upstream: { readonly head: Head };
  readonly mirror?: unknown;
  readonly journal?: { readonly settledTo: number };
  /** True if secrets by name are wanted, which an origin gives only to people. */
  readonly withProtected?: boolean | undefined;
}

/**
 * Returns the capabilities that a replica names beyond the version. One that can start anew (`mirror`) reconciles by
 * trees.
 */
export function capabilitiesOf({
  mirror,
  withProtected,
}: Pick<Introduction, "mirror" | "withProtected">): Capability[] {
  const named: Capability[] = ["rename", "witness", "folder", "blocks", "read-only", "ahead"];
  if (mirror !== undefined) named.push("tree", "erasures");
  if (withProtected === true) named.push("protected");
  return named;
}

/**
 * Makes a replica's first message. It names the workspace as it was asked for, not as it was resolved, so that a change
 * to another workspace is noticed.
 */
export function replicaHello(introduction: Introduction): MessageOf<"Hello"> {
  const { sandboxId, workspace: known, asked = known, token, upstream, mirror, journal, withProtected } = introduction;
  const { seq: sequence, hash } = upstream.head;
  return {
    type: "Hello",
    versions: [PROTOCOL_VERSION],
    capabilities: capabilitiesOf({ mirror, withProtected }),
    ...optional({ workspace: asked }),
    sandbox_id: sandboxId,
    ...optional({ token }),
    head: { sequence, hash },
    settled_local_seq: journal?.settledTo ?? 0,
  };
}
