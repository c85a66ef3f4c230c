import { useQuery } from "@tanstack/react-query";
import { useParams } from "@tanstack/react-router";
import { useWorkspaceApi } from "../data/api.ts";
import { Command, CopyButton } from "../parts/command.tsx";
import { Loading, Problem } from "../parts/states.tsx";
import { digits } from "../parts/words.ts";
import { GivenUp } from "./given-up.tsx";
import { NotCovered } from "./not-covered.tsx";
import { Refused } from "./refused.tsx";
import { Verify } from "./verify.tsx";
import { Witnesses } from "./witnesses.tsx";
import "./integrity.css";

/** Shows whether the history is whole and signed, and how to prove that on another machine. */
export function IntegrityPage() {
  const { workspace } = useParams({ from: "/w/$workspace" });
  return (
    <div className="integrity">
      <Verify workspace={workspace} />
      <Head workspace={workspace} />
      <Witnesses workspace={workspace} />
      <NotCovered workspace={workspace} />
      <Refused workspace={workspace} />
      <GivenUp workspace={workspace} />
    </div>
  );
}

function Head({ workspace }: { readonly workspace: string }) {
  const on = useWorkspaceApi(workspace);
  const signing = useQuery({ queryKey: ["workspace", workspace, "signing"], queryFn: () => on.signing() });
  const head = useQuery({
    queryKey: ["workspace", workspace, "head"],
    queryFn: () => on.head(),
    enabled: signing.data?.state === "signed",
    retry: false,
  });
  const { data } = signing;
  return (
    <section className="panel">
      <h2>The signed head</h2>
      {signing.error === null ? null : <Problem error={signing.error} />}
      {data === undefined ? <Loading /> : null}
      {data === undefined || data.state === "signed" ? null : (
        <p className="note">
          <strong>{data.state}</strong> {data.detail} {data.hint}
        </p>
      )}
      {head.data === undefined ? null : (
        <>
          <p className="quiet">
            It commits to everything up to event {digits(head.data.seq)}. Keep a copy on another machine: with it, a cut
            or replaced history is found.
          </p>
          {/* A person without a pointer must be able to scroll the lines. */}
          {/* oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex */}
          <pre className="note-text" tabIndex={0} role="region" aria-label="The signed head as text">
            {head.data.note}
          </pre>
          <p className="head-copy">
            <CopyButton text={head.data.note} label="Copy the signed head" />
            <span className="quiet">
              The key that proves it: <Command text={head.data.key} />
            </span>
          </p>
        </>
      )}
    </section>
  );
}
