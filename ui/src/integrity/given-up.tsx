import { useQuery } from "@tanstack/react-query";
import type { PruningShape } from "../../../src/api/action-shapes.ts";
import { useMayChange, useWorkspaceApi } from "../data/api.ts";
import { Command } from "../parts/command.tsx";
import { Problem } from "../parts/states.tsx";
import { Ago, exactTime } from "../parts/time.tsx";
import { counted, digits, visible } from "../parts/words.ts";

const MOST = 50;

/** Shows what was given up (pruned moments and erased contents), with who gave it up and why. */
export function GivenUp({ workspace }: { readonly workspace: string }) {
  const on = useWorkspaceApi(workspace);
  const prunings = useQuery({
    queryKey: ["workspace", workspace, "prunings"],
    queryFn: () => on.prunings(),
    retry: false,
  });
  const erasures = useQuery({
    queryKey: ["workspace", workspace, "erasures"],
    queryFn: () => on.erasures(),
    retry: false,
  });
  const error = prunings.error ?? erasures.error;
  const { data: pruned = [] } = prunings;
  const { data: erased = [] } = erasures;
  return (
    <section className="panel" aria-label="What was given up">
      <h2>What was given up</h2>
      {error === null ? null : <Problem error={error} />}
      {error === null && pruned.length + erased.length === 0 ? (
        <p className="quiet">Nothing was pruned or erased: every state is kept since the beginning.</p>
      ) : null}
      <ul className="facts-list">
        {pruned
          .toReversed()
          .slice(0, MOST)
          .map((one) => (
            <Pruning key={one.event} pruning={one} />
          ))}
        {erased
          .toReversed()
          .slice(0, MOST)
          .map(({ id, total, reason, actor, at, asked, until, can_be_withdrawn: isOpen }) => (
            <li key={id}>
              <span>
                {counted(total, "content")} erased by {visible(actor)}{" "}
                {asked.path === undefined ? null : <code>{visible(asked.path)}</code>} <Ago at={at} />
                {reason === null ? null : `: ${visible(reason)}`}
              </span>
              {isOpen ? <WayBack command={`chronicle unerase ${id.slice(0, 8)}`} until={until} /> : null}
            </li>
          ))}
      </ul>
    </section>
  );
}

const CAUSES: Readonly<Record<PruningShape["cause"], string>> = {
  limits: "by the limits",
  asked: "by",
  "brought-back": "brought back by",
};

function Pruning({ pruning }: { readonly pruning: PruningShape }) {
  const { id, event, at, actor, cause, floor_seq: floor, actions, snapshots, until } = pruning;
  const what = [
    ...(snapshots === 0 ? [] : [counted(snapshots, "snapshot")]),
    ...(actions === 0 ? [] : [counted(actions, "action")]),
  ].join(" and ");
  return (
    <li>
      <span>
        {cause === "brought-back" ? "What was pruned was " : `${what === "" ? "Private contents" : what} pruned `}
        {CAUSES[cause]} {cause === "limits" ? null : visible(actor)} <Ago at={at} />{" "}
        <span className="quiet">
          (event {digits(event)}; every state since event {digits(floor)} is kept)
        </span>
      </span>
      {pruning.can_be_brought_back && until !== null ? (
        <WayBack command={`chronicle unforget ${id}`} until={until} />
      ) : null}
    </li>
  );
}

function WayBack({ command, until }: { readonly command: string; readonly until: string }) {
  const mayChange = useMayChange();
  if (!mayChange) return null;
  return (
    <span className="quiet">
      Back again until {exactTime(Date.parse(until))}: <Command text={command} />
    </span>
  );
}
