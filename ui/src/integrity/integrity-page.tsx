import { useMutation, useQuery } from "@tanstack/react-query";
import { useParams } from "@tanstack/react-router";
import { ShieldAlert, ShieldCheck } from "lucide-react";
import { type FormEvent, useId, useState } from "react";
import { useWorkspaceApi } from "../data/api.ts";
import { Command, CopyButton } from "../parts/command.tsx";
import { Loading, Problem } from "../parts/states.tsx";
import { counted, digits, size, visible } from "../parts/words.ts";
import { GivenUp } from "./given-up.tsx";
import { keepCheck } from "./last-check.ts";
import { NotCovered } from "./not-covered.tsx";
import { Refused } from "./refused.tsx";
import { type Check, verdictOf } from "./verdict.ts";
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

function Verify({ workspace }: { readonly workspace: string }) {
  const on = useWorkspaceApi(workspace);
  const [expect, setExpect] = useState("");
  const field = useId();
  const verify = useMutation({
    mutationFn: async (quick: boolean): Promise<Check> => {
      // A signed head ends with a newline, which is easily lost when it is copied.
      const head = expect.trim() === "" ? {} : { expect: `${expect.trim()}\n` };
      const result = await on.verify({ quick, ...head });
      // A damaged log may not be readable, and the check itself says so.
      keepCheck(workspace, { at: new Date().toISOString(), problems: result.problems.length, isQuick: quick });
      const [newest] = result.ok ? await on.log({ reverse: true, limit: 1 }) : [];
      return { result, isQuick: quick, last: newest?.seq ?? 0 };
    },
  });
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    verify.mutate(false);
  };
  return (
    <section className="panel" aria-labelledby={`${field}-title`}>
      <h1 id={`${field}-title`}>Is the history whole?</h1>
      <form onSubmit={submit} className="verify-form">
        <label htmlFor={field}>A head that you kept earlier, to compare with (may be empty)</label>
        <textarea
          id={field}
          rows={3}
          spellCheck={false}
          value={expect}
          onChange={(event) => setExpect(event.target.value)}
          placeholder="the output of: chronicle head"
        />
        <div className="verify-buttons">
          <button type="submit" className="button primary" disabled={verify.isPending}>
            Recompute everything
          </button>
          <button type="button" className="button" disabled={verify.isPending} onClick={() => verify.mutate(true)}>
            Only the log
          </button>
        </div>
      </form>
      {verify.isPending ? <Loading what={verify.variables ? "Reading the log" : "Recomputing every hash"} /> : null}
      {verify.error === null ? null : <Problem error={verify.error} />}
      {verify.data === undefined ? null : <Verified check={verify.data} />}
    </section>
  );
}

function Verified({ check }: { readonly check: Check }) {
  const { ok, events, blobs, bytes, problems, notes, expected, seconds } = check.result;
  const { title, proof } = verdictOf(check);
  const read = check.isQuick ? "the log read" : `${size(bytes)} read`;
  const Icon = ok ? ShieldCheck : ShieldAlert;
  return (
    <div className={ok ? "verified ok" : "verified bad"} role="status">
      <p className="verified-line">
        <Icon size={20} aria-hidden="true" />
        <strong>{title}</strong>
      </p>
      <p className="quiet">
        {counted(events, "event")}, {counted(blobs, "content")}, {read} in {seconds.toFixed(1)} s. {proof}
      </p>
      {expected === null ? null : (
        <p>
          The head that you gave, of event {digits(expected.seq)}:{" "}
          {expected.ok ? "the history agrees with it" : "the history does not agree with it"} (signature:{" "}
          {expected.signature}).
        </p>
      )}
      <ul>
        {problems.slice(0, 100).map(({ kind, where, detail }) => (
          <li key={`${kind} ${where} ${detail}`}>
            <strong>{kind}</strong> {visible(where)}: {visible(detail)}
          </li>
        ))}
        {notes.map((note) => (
          <li key={note} className="quiet">
            {visible(note)}
          </li>
        ))}
      </ul>
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
