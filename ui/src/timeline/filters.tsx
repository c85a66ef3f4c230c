import { useNavigate, useSearch } from "@tanstack/react-router";
import { Search, X } from "lucide-react";
import { type ChangeEvent, useDeferredValue, useEffect, useState } from "react";
import type { RecentItem } from "../../../src/api/recent-api.ts";
import { visible } from "../parts/words.ts";

type Name = "actor" | "kind" | "text" | "file";

const KINDS: readonly RecentItem["kind"][] = [
  ...(["turn", "run", "action", "edit", "watch", "write", "transaction", "restore"] as const),
  ...(["undo", "redo", "resolve", "snapshot", "sync", "baseline"] as const),
];

/** Shows the filters of the list. The address of the page contains their values. */
export function Filters({ items }: { readonly items: readonly RecentItem[] }) {
  const search = useSearch({ from: "/w/$workspace/" });
  const navigate = useNavigate({ from: "/w/$workspace/" });
  const put = (name: Name, value: string): void => {
    void navigate({
      replace: true,
      search: ({ [name]: _before, ...rest }) => (value === "" ? rest : { ...rest, [name]: value }),
    });
  };
  const actors = [
    ...new Set([...items.map(({ actor }) => actor), ...(search.actor === undefined ? [] : [search.actor])]),
  ];
  const choose = (name: Name) => (event: ChangeEvent<HTMLSelectElement>) => put(name, event.target.value);
  const isAny = (["actor", "kind", "text", "file"] as const).some((name) => search[name] !== undefined);
  return (
    <form className="filters" role="search" aria-label="Filter" onSubmit={(event) => event.preventDefault()}>
      <TextFilter key={search.text ?? ""} text={search.text ?? ""} onText={(text) => put("text", text)} />
      <select aria-label="By whom" value={search.actor ?? ""} onChange={choose("actor")}>
        <option value="">anybody</option>
        {actors.sort().map((actor) => (
          <option key={actor} value={actor}>
            {visible(actor === "human" ? "person" : actor)}
          </option>
        ))}
      </select>
      <select aria-label="Kind" value={search.kind ?? ""} onChange={choose("kind")}>
        <option value="">everything</option>
        {KINDS.map((kind) => (
          <option key={kind} value={kind}>
            {kind}
          </option>
        ))}
      </select>
      {search.file === undefined ? null : (
        <button
          type="button"
          className="chip"
          onClick={() => put("file", "")}
          aria-label={`Every file, not only ${search.file}`}
        >
          {visible(search.file)} <X size={12} aria-hidden="true" />
        </button>
      )}
      {isAny ? (
        <button
          type="button"
          className="button quiet-button"
          onClick={() => void navigate({ search: ({ work }) => (work === undefined ? {} : { work }), replace: true })}
        >
          Clear
        </button>
      ) : null}
    </form>
  );
}

function TextFilter({ text, onText }: { readonly text: string; readonly onText: (text: string) => void }) {
  const [typed, setTyped] = useState(text);
  const settled = useDeferredValue(typed);
  useEffect(() => {
    if (settled === text) return undefined;
    const timer = setTimeout(() => onText(settled), 250);
    return () => clearTimeout(timer);
  }, [settled, text, onText]);
  return (
    <label className="search-field">
      <Search size={14} aria-hidden="true" />
      <input
        type="search"
        placeholder="Text of a prompt or command"
        aria-label="Text of a prompt or command"
        value={typed}
        onChange={(event) => setTyped(event.target.value)}
      />
    </label>
  );
}
