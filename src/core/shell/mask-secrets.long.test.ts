import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { MASK, maskCommand } from "./mask-secrets.ts";
import { processorTime } from "../../testing/processor-time.ts";

const JWT = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.c2lnbmF0dXJl";

describe("maskCommand masks", () => {
  const rows: [string, string[], string[]][] = [
    ["a flag's next argument", ["x", "--token", "abc", "y"], ["x", "--token", "***", "y"]],
    ["a flag's own value", ["x", "--password=a=b c"], ["x", "--password=***"]],
    [
      "flags with other names",
      ["x", "--api-key", "k", "--client-secret", "s", "--apiKey=k"],
      ["x", "--api-key", "***", "--client-secret", "***", "--apiKey=***"],
    ],
    ["flags with one dash", ["x", "-password", "p", "-token=t"], ["x", "-password", "***", "-token=***"]],
    ["a value that begins with a dash", ["x", "--token", "-abc"], ["x", "--token", "***"]],
    [
      "variables",
      ["env", "GITHUB_TOKEN=a", "PGPASSWORD=b", "AWS_SECRET_ACCESS_KEY=c d", "SSH_KEY=k", "AWS_ACCESS_KEY_ID=i"],
      [
        "env",
        "GITHUB_TOKEN=***",
        "PGPASSWORD=***",
        "AWS_SECRET_ACCESS_KEY=***",
        "SSH_KEY=***",
        "AWS_ACCESS_KEY_ID=***",
      ],
    ],
    [
      "variables in flags",
      ["docker", "run", "-eAPI_KEY=a", "--env=MY_TOKEN=b"],
      ["docker", "run", "-eAPI_KEY=***", "--env=MY_TOKEN=***"],
    ],
    [
      "URLs with credentials",
      ["git", "clone", "https://me:p@ss@host/r?a=b"],
      ["git", "clone", "https://me:***@host/r?a=b"],
    ],
    ["URLs with a token for a user", ["x", "https://0123456789abcdef0123@host/"], ["x", "https://***@host/"]],
    [
      "URLs with secrets in the query",
      ["curl", "https://h/?a=1&access_token=x&b=2#f"],
      ["curl", "https://h/?a=1&access_token=***&b=2#f"],
    ],
    ["bearer headers", ["curl", "-H", "Authorization: Bearer x"], ["curl", "-H", "Authorization: Bearer ***"]],
    [
      "other headers",
      ["curl", "-H", "X-Api-Key: k", "-HCookie: a=b; c=d"],
      ["curl", "-H", "X-Api-Key: ***", "-HCookie: ***"],
    ],
    [
      "JSON and forms",
      ["curl", "-d", '{"user":"a","password":"b\\"c"}', "-d", "u=a&password=b&x=1"],
      ["curl", "-d", '{"user":"a","password":"***"}', "-d", "u=a&password=***&x=1"],
    ],
    [
      "JSON in a shell's string",
      ["sh", "-c", 'curl -d "{\\"token\\": \\"abc\\", \\"a\\": 1}"'],
      ["sh", "-c", 'curl -d "{\\"token\\": "***", \\"a\\": 1}"'],
    ],
    [
      "curl's user",
      ["curl", "-u", "me:p:q", "--user", "a:b", "-ume:pw"],
      ["curl", "-u", "me:***", "--user", "a:***", "-ume:***"],
    ],
    ["mysql's -p", ["/usr/bin/mysql", "-uroot", "-psecret", "db"], ["/usr/bin/mysql", "-uroot", "-p***", "db"]],
    ["a command behind sudo", ["sudo", "-u", "root", "mysql", "-psecret"], ["sudo", "-u", "root", "mysql", "-p***"]],
    ["sshpass", ["sshpass", "-p", "pw", "ssh", "h"], ["sshpass", "-p", "***", "ssh", "h"]],
    ["docker login", ["docker", "login", "-u", "me", "-p", "pw"], ["docker", "login", "-u", "me", "-p", "***"]],
    [
      "redis and openssl",
      ["redis-cli", "-a", "pw", "openssl", "-passin", "pass:pw"],
      ["redis-cli", "-a", "***", "openssl", "-passin", "pass:***"],
    ],
    [
      "secrets of known shapes",
      ["x", "sk-abcdefghijklmnop1234", `ghp_${"a".repeat(36)}`, "AKIAABCDEFGHIJKLMNOP", `a=${JWT},`],
      ["x", "***", "***", "***", "a=***,"],
    ],
    [
      "a private key",
      ["x", "-----BEGIN RSA PRIVATE KEY-----\nMIIE\nx\n-----END RSA PRIVATE KEY-----\ny"],
      ["x", "***\ny"],
    ],
    [
      "a shell's string",
      ["sh", "-c", "A_TOKEN=x run --password 'a b' -v | mysql -ppw; echo \"$A\""],
      ["sh", "-c", "A_TOKEN=*** run --password '***' -v | mysql -p***; echo \"$A\""],
    ],
    [
      "a shell in a shell",
      ["bash", "-lc", "cd x && sh -c 'curl -u me:pw -H \"Authorization: Basic QQ==\" u'"],
      ["bash", "-lc", "cd x && sh -c 'curl -u me:*** -H \"Authorization: Basic ***\" u'"],
    ],
    ["a command for another host", ["ssh", "h", "mysql -ppw"], ["ssh", "h", "mysql -p***"]],
  ];
  it.each(rows)("%s", (_name, argv, masked) => expect(maskCommand(argv)).toEqual(masked));
});

describe("maskCommand leaves", () => {
  it.each([
    [["docker", "run", "-p", "8080:80", "--user", "1000:1000"]],
    [["mkdir", "-p", "a/b"]],
    [["llm", "--max-tokens", "100", "--tokenizer", "x", "MAX_TOKENS=5"]],
    [["x", "--password-file", "f", "--token-path=/p", "--password-stdin", "a", "--no-auth", "b", "TOKEN_FILE=f"]],
    [["x", "--token", "--verbose", "y"]],
    [["env", "PWD=/home/me", "KEY=a", "MONKEY=b", "PATH=/bin"]],
    [["git", "commit", "-m", "auth: let people in; see https://user@host/x and a:b"]],
    [["git", "clone", "git@github.com:a/b.git", "ssh://git@host/x"]],
    [["grep", "-rn", "sk-", "task-force-with-a-long-name-here"]],
    [["sh", "-c", 'for f in "$@"; do wc -l "$f" 2>&1; done', "", "it's"]],
    [["x", "token", "password", ""]],
  ])("%j", (argv) => expect(maskCommand(argv)).toEqual(argv));
});

it("keeps the number of words, and masking twice is masking once", () => {
  const piece = fc.constantFrom(
    "--token",
    "-p",
    "mysql",
    "sh",
    "-c",
    "a b",
    "A_TOKEN=x",
    '"',
    "'",
    "\\",
    "\n",
    ";",
    "=",
    ":",
    "://",
    "@",
    "x",
    "\ud800",
    "Cookie: ",
    "|",
    "echo",
    "--password-stdin",
    "<<<",
    "<<E",
    "E",
    "vault",
    "login",
    "kv",
    "put",
    "k=v",
    "set",
    "K_TOKEN",
    "$env:K_TOKEN",
    "openssl",
    "-pass",
    "pass:",
    "secret",
    "kubectl",
    "--from-literal",
    "identified by 'x'",
    "(",
    ")",
  );
  const word = fc.array(piece, { maxLength: 6 }).map((parts) => parts.join(""));
  fc.assert(
    fc.property(fc.array(fc.oneof(word, piece), { maxLength: 8 }), (argv) => {
      const once = maskCommand(argv);
      expect(once.length).toBe(argv.length);
      expect(maskCommand(once)).toEqual(once);
    }),
    { numRuns: 3000 },
  );
});

it("every secret that is given by name is masked, whatever its text", () => {
  const secret = fc.string({ unit: "binary", minLength: 1, maxLength: 20 }).map((text) => `S3\u00a7${text}`);
  fc.assert(
    fc.property(secret, (text) => {
      const masked = maskCommand([
        "x",
        "--token",
        text,
        `--secret=${text}`,
        `DB_PASSWORD=${text}`,
        "mysql",
        `-p${text}`,
      ]);
      expect(masked).toEqual(["x", "--token", MASK, `--secret=${MASK}`, `DB_PASSWORD=${MASK}`, "mysql", `-p${MASK}`]);
    }),
  );
});

it("long arguments are masked in time that is linear in their length", () => {
  const pieces = [
    "a",
    "a=",
    "token",
    "a:",
    '"',
    "://",
    "-",
    "eyJ",
    "\\",
    "sk-",
    "-----BEGIN ",
    "a ",
    "Cookie:",
    "bearer ",
    "sudo -S | ",
    "echo x | ",
    "login --password-stdin <<E ",
    "login --password-stdin <<E\n",
    "aws configure set ",
    "vault kv put a=b ",
    "identified by '",
    'SetEnvironmentVariable("A_TOKEN", "',
    "htpasswd -b ",
    "(echo a) ",
    "&sig=",
  ];
  // If the time is linear in the length, the masking takes about two seconds. If the time were quadratic, the masking
  // would take hours.
  const spent = processorTime();
  for (const piece of pieces)
    maskCommand(["sh", "-c", piece.repeat(200_000 / piece.length), piece.repeat(200_000 / piece.length)]);
  expect(spent()).toBeLessThan(60_000);
});
