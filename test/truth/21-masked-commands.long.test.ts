import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { WorkspaceApi } from "../../src/api/workspace-api.ts";
import { newToken } from "../../src/server/callers/token.ts";
import { Sandbox } from "../cli/sandbox.ts";
import { Project } from "../helpers/project.ts";

/**
 * A command line is recorded without the secrets that its words give away, and is otherwise recorded as it is. `§`
 * stands for the secret.
 */

const SECRET = "S3cr3t,x9/Zq";
const MASKED: readonly (readonly [string, string])[] = [
  ["aws configure set aws_secret_access_key §", "aws configure set aws_secret_access_key ***"],
  [
    "aws --profile p configure set default.aws_session_token §",
    "aws --profile p configure set default.aws_session_token ***",
  ],
  ["npm config set //registry.example/:_authToken §", "npm config set //registry.example/:_authToken ***"],
  ["npm config set //registry.example/:_authToken=§", "npm config set //registry.example/:_authToken=***"],
  ["git config --global github.token §", "git config --global github.token ***"],
  ["poetry config http-basic.example me §", "poetry config http-basic.example me ***"],
  ["poetry config pypi-token.example §", "poetry config pypi-token.example ***"],
  ["set -gx API_KEY §; make", "set -gx API_KEY ***; make"],
  ["set -x DB_PASSWORD '§ more' and", "set -x DB_PASSWORD '***' ***"],
  ["set password = §", "set password = ***"],
  ["setenv GITHUB_TOKEN §", "setenv GITHUB_TOKEN ***"],
  ["setx OPENAI_API_KEY §", "setx OPENAI_API_KEY ***"],
  ['$env:API_KEY = "§"; npm test', '$env:API_KEY = "***"; npm test'],
  ["$Env:GITHUB_TOKEN='§'", "$Env:GITHUB_TOKEN=***"],
  ["$password = '§'", "$password = '***'"],
  [
    '[Environment]::SetEnvironmentVariable("API_KEY", "§", "User")',
    '[Environment]::SetEnvironmentVariable("API_KEY", "***", "User")',
  ],
  ["openssl enc -aes-256-cbc -k § -in a -out b", "openssl enc -aes-256-cbc -k *** -in a -out b"],
  ["openssl enc -aes-256-cbc -pass pass:§ -in a", "openssl enc -aes-256-cbc -pass pass:*** -in a"],
  ["openssl rsa -passin 'pass:§' -passout pass:§ -in k", "openssl rsa -passin 'pass:***' -passout pass:*** -in k"],
  ["openssl enc -K § -iv 00", "openssl enc -K *** -iv 00"],
  ["vault login §", "vault login ***"],
  ["vault login -no-print §", "vault login -no-print ***"],
  ["vault login -method=userpass username=me password=§", "vault login -method=userpass username=me password=***"],
  ["vault kv put secret/app user=§ key=§", "vault kv put secret/app user=*** key=***"],
  ["kubectl create secret generic db --from-literal=pw=§", "kubectl create secret generic db --from-literal=pw=***"],
  [
    "kubectl create secret generic db --from-literal name=§ -n a",
    "kubectl create secret generic db --from-literal name=*** -n a",
  ],
  ["echo § | docker login -u me --password-stdin", "echo *** | docker login -u me --password-stdin"],
  [
    "echo -n '§' | sudo docker login reg --password-stdin && make",
    "echo -n '***' | sudo docker login reg --password-stdin && make",
  ],
  ["printf '%s\\n' § | docker login --password-stdin", "printf '%s\\n' *** | docker login --password-stdin"],
  ["echo § | base64 -d | podman login --password-stdin r", "echo *** | base64 -d | podman login --password-stdin r"],
  ["(echo §) | docker login --password-stdin", "(echo ***) | docker login --password-stdin"],
  ["docker login --password-stdin <<< §", "docker login --password-stdin <<< ***"],
  ["docker login --password-stdin <<EOF\n§\nEOF\nmake", "docker login --password-stdin <<EOF\n***\nEOF\nmake"],
  ["echo § | gh auth login --with-token", "echo *** | gh auth login --with-token"],
  ["echo me:§ | chpasswd", "echo *** | chpasswd"],
  ["echo § | sudo -S apt-get update", "echo *** | sudo -S apt-get update"],
  ["echo § | openssl enc -pass stdin -in a", "echo *** | openssl enc -pass stdin -in a"],
  ["fly secrets set FOO=§ BAR=§", "fly secrets set FOO=*** BAR=***"],
  ["gh secret set NAME -b §", "gh secret set NAME -b ***"],
  ["cargo login §", "cargo login ***"],
  ["ssh-keygen -t ed25519 -N § -f k", "ssh-keygen -t ed25519 -N *** -f k"],
  ["keytool -list -storepass §", "keytool -list -storepass ***"],
  ["htpasswd -nb me §", "htpasswd -nb me ***"],
  ["htpasswd -cb .htpasswd me §", "htpasswd -cb .htpasswd me ***"],
  ["rabbitmqctl add_user me §", "rabbitmqctl add_user me ***"],
  ["smbclient -U me%§ //h/s", "smbclient -U me%*** //h/s"],
  ["skopeo copy --src-creds me:§ a b", "skopeo copy --src-creds me:*** a b"],
  ["psql -c \"ALTER USER me WITH PASSWORD '§'\"", "psql -c \"ALTER USER me WITH PASSWORD '***'\""],
  ["mysql -e \"CREATE USER a IDENTIFIED BY '§'\"", "mysql -e \"CREATE USER a IDENTIFIED BY '***'\""],
  ["curl -d @f 'https://h/?sv=1&sig=§'", "curl -d @f 'https://h/?sv=1&sig=***'"],
  ["curl https://hooks.slack.com/services/T0/B0/§", "curl https://hooks.slack.com/services/***"],
  ["ssh h 'echo § | docker login --password-stdin'", "ssh h 'echo *** | docker login --password-stdin'"],
  ["bash -c 'set -gx K_TOKEN §'", "bash -c 'set -gx K_TOKEN ***'"],
  ["curl -b 'sid=§' https://h/", "curl -b 'sid=***' https://h/"],
  ["curl --cookie sid=§ https://h/", "curl --cookie *** https://h/"],
  ["curl -E cert.pem:§ https://h/", "curl -E cert.pem:*** https://h/"],
  ["poetry publish -u me -p §", "poetry publish -u me -p ***"],
  ["uv publish -t §", "uv publish -t ***"],
  ["maturin upload -p § a.whl", "maturin upload -p *** a.whl"],
  ["pdm publish -P §", "pdm publish -P ***"],
  ["app --pwd § --verbose", "app --pwd *** --verbose"],
  ["app -pwd=§", "app -pwd=***"],
  ["app 'Server=h;Uid=me;Pwd=§;'", "app 'Server=h;Uid=me;Pwd=***;'"],
  ["pulumi config set --secret dbName §", "pulumi config set --secret dbName ***"],
  ["mysqlimport -p§ db t.txt", "mysqlimport -p*** db t.txt"],
  ["mariadb-dump -p§ db", "mariadb-dump -p*** db"],
  ["mongotop -u me -p §", "mongotop -u me -p ***"],
  ["ldapcompare -w § dc=a", "ldapcompare -w *** dc=a"],
  ["valkey-cli -a § ping", "valkey-cli -a *** ping"],
  ["unrar x -p§ a.rar", "unrar x -p*** a.rar"],
  ["7zz a -p§ a.7z b", "7zz a -p*** a.7z b"],
  ["crane auth login r -u me -p §", "crane auth login r -u me -p ***"],
  ["xh -a me:§ https://h/", "xh -a me:*** https://h/"],
  ["smbget -U me%§ smb://h/s", "smbget -U me%*** smb://h/s"],
];

const READABLE: readonly string[] = [
  "aws configure set region eu-central-1",
  "aws configure set output json && aws s3 ls",
  "aws configure list",
  "npm config set registry https://registry.example/",
  "git config --global user.name 'A B'",
  "git config credential.helper store",
  "set -euo pipefail; make",
  "set -gx PATH /bin $PATH",
  "set -- a b c",
  "$env:PATH = '/bin'; ls",
  "$x = 5",
  "if [ \"$TOKEN\" = '' ]; then echo missing; fi",
  "openssl x509 -in cert.pem -noout -text",
  "openssl enc -aes-256-cbc -pass file:key.txt -in a",
  "openssl rsa -passin env:PW -in k.pem",
  "openssl req -new -key k.pem -keyout x",
  "vault status; vault kv get secret/app; vault login -method=oidc; vault login -",
  "kubectl create configmap c --from-literal=mode=dev",
  "kubectl get secret db -o yaml",
  "cat token.txt | docker login -u me --password-stdin",
  'echo "$TOKEN" | docker login -u me --password-stdin',
  "docker login --password-stdin < token.txt",
  "echo hello | tee out.txt",
  "echo done || docker login --password-stdin < f",
  "echo starting; docker login --password-stdin < f",
  "docker run -p 80:80 -k x",
  "tar -k -xf a.tar",
  "grep -k login vault",
  "cargo build --release",
  "gh secret list; gh secret set NAME < file",
  "ssh-keygen -lf key.pub",
  "mkdir -p a/b && cp -b x y",
  "htpasswd -v .htpasswd me",
  "ssh -p 22 host; scp -P 22 a host:b; cp -p a b",
  "curl -b cookies.txt -c cookies.txt https://h/",
  "curl -E cert.pem https://h/",
  "poetry build -p x; poetry install",
  "uv run -p 3.12 x; uv venv -p 3.13",
  "apptainer exec --pwd /work a.sif ls",
  "app --pwd ./here; app --pwd=/there; cd a;PWD=/b make",
  "pulumi config set aws:region eu-west-1; pulumi config get x",
  "crane pull -p linux/amd64 a b",
  "sudo -u me ls",
  "chronicle token create --role agent",
  "select password from users",
  "git commit -m 'login: set the password field'",
  "compass --bypass x --trespass y",
];

describe("Truth 21: secrets in command lines", { timeout: 120_000 }, () => {
  let project: Project;
  let workspace: WorkspaceApi;
  beforeAll(async () => {
    project = new Project();
    workspace = await project.init();
  });
  afterAll(() => project[Symbol.asyncDispose]());

  const recorded = async (command: string): Promise<string> => {
    const action = await workspace.snapshotAction({ type: "run_command", payload: { command } });
    await workspace.finishAction(action?.id ?? "");
    return (await workspace.showAction(action?.id ?? "")).action_summary.replace(/^run_command: /, "");
  };

  it.each(MASKED)("%s", async (line, masked) => {
    expect(await recorded(line.replaceAll("§", SECRET))).toBe(masked);
  });

  it.each(MASKED.map(([, masked]) => masked))("%s stays as it is when it is recorded again", async (masked) => {
    expect(await recorded(masked)).toBe(masked);
  });

  it.each(READABLE)("%s stays as it is", async (line) => {
    expect(await recorded(line)).toBe(line);
  });

  it("Chronicle's own tokens are masked, wherever they stand", async () => {
    const token = newToken();
    for (const line of [
      `curl -H 'X: ${token}' h`,
      `x ${token}`,
      `printf ${token}>f`,
      `chronicle token revoke ${token}`,
    ]) {
      expect(await recorded(line)).toBe(line.replace(token, "***"));
    }
  });

  it("the log has no secret of an action or of a run", async () => {
    const workspaces = join(project.home, "workspaces");
    const [id = ""] = readdirSync(workspaces);
    expect(readFileSync(join(workspaces, id, "events.wal"), "utf8")).not.toContain(SECRET);
    using box = new Sandbox();
    const token = newToken();
    await box.must(["run", "--", "env", "true", "kubectl", "secret", `--from-literal=pw=${SECRET}`, token]);
    await box.must(["run", "--", "sh", "-c", `: vault login ${SECRET}`]);
    const [own = ""] = readdirSync(join(box.store, "workspaces"));
    const log = readFileSync(join(box.store, "workspaces", own, "events.wal"), "utf8");
    for (const secret of [token, SECRET]) expect(log).not.toContain(secret);
    expect(log).toContain("vault login ***");
  });
});
