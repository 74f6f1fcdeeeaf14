/** Makes a vault in a folder: files that a person edits from then on, and the key of its first owner. */
import { appendFile, readFile, unlink, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import process from 'node:process'
import { createApiKey } from '../../http/index.ts'
import type { CommandWork } from '../command.ts'
import { CommandFailure, EXIT } from '../failure.ts'
import type { InitAnswers } from './ask-answers.ts'
import { configText, FILES, IGNORED, schemaText } from './templates.ts'

/** The work of `strongroom init`. */
export const init: CommandWork = async (run) => {
  const { options, output } = run
  const given: InitAnswers = {
    id: options.text('id') ?? 'main',
    storage: options.word('storage', ['sqlite', 'postgres']) ?? 'sqlite',
    postgresEnv: options.text('postgresEnv') ?? 'DATABASE_URL',
  }
  const folder = process.cwd()
  assertInstalled(folder)
  const answers = options.isSet('yes') ? given : await (await import('./ask-answers.ts')).askAnswers(given)
  const written = await writeFiles(folder, answers)
  // The database has plain columns: it is made for this account alone, as the key is.
  process.umask(0o077)
  try {
    const vault = await run.openVault({ serves: true })
    const owner = vault.as({ actor: 'strongroom init', actorType: 'SERVICE_ACCOUNT', roles: ['VAULT_OWNER'] })
    const { keyId, apiKey } = await createApiKey(owner, { name: 'owner', roles: ['VAULT_OWNER'] })
    const url = `http://127.0.0.1:8420/v1/vaults/${answers.id}/customers`
    output.result({ files: written, keyId, apiKey, url }, () => [
      `Made ${written.join(', ')}. Keep vault.key: without it, the vault can never be read.`,
      '',
      `Key of the owner, shown this once:  ${apiKey}`,
      '',
      'Serve the vault:         npx strongroom serve',
      'Keep the key in a shell: read -rs STRONGROOM_KEY && export STRONGROOM_KEY',
      `Store a customer:        ${curlOf(url, EXAMPLE)}`,
      `Read the customers:      ${curlOf(url)}`,
    ])
  } catch (error) {
    // A second try begins anew. The storage and the key file stay: they may have records.
    await Promise.all(written.map((name) => unlink(join(folder, name))))
    throw error
  }
  return EXIT.done
}

const EXAMPLE = `-H 'Content-Type: application/json' -d '{"records":[{"fields":{"name":"Ann Bell","email":"ann@acme.example"}}],"tokenization":true}'`

function curlOf(url: string, data = ''): string {
  return `curl ${url} -H "Authorization: Bearer $STRONGROOM_KEY"${data === '' ? '' : ` ${data}`}`
}

/** The configuration imports the package, so it must be installed where the configuration is. */
function assertInstalled(folder: string): void {
  try {
    createRequire(join(folder, 'package.json')).resolve('strongroom/package.json')
  } catch {
    throw new CommandFailure(
      EXIT.config,
      'This folder does not have the package. Install it: npm install strongroom better-sqlite3',
    )
  }
}

/** Writes the files, and none if one of them exists. Returns their names. */
async function writeFiles(folder: string, answers: InitAnswers): Promise<readonly string[]> {
  const texts = { [FILES.schema]: schemaText(), [FILES.config]: configText(answers) }
  const names = Object.keys(texts)
  for (const name of names) {
    const exists = await readFile(join(folder, name)).then(
      () => true,
      () => false,
    )
    if (exists)
      throw new CommandFailure(
        EXIT.config,
        `${name} exists already. Nothing was changed. Run init in another folder, or remove it.`,
      )
  }
  for (const [name, text] of Object.entries(texts)) await writeFile(join(folder, name), text, { flag: 'wx' })
  await ignoreSecrets(folder)
  return names
}

/** Keeps key and vault out of version control. */
async function ignoreSecrets(folder: string): Promise<void> {
  const file = join(folder, '.gitignore')
  const lines = await readFile(file, 'utf8').then(
    (text) => text.split(/\r?\n/),
    (): string[] => [],
  )
  const missing = IGNORED.filter((line) => !lines.includes(line))
  if (missing.length === 0) return
  const gap = lines.length === 0 || lines.at(-1) === '' ? '' : '\n'
  await appendFile(file, `${gap}${missing.join('\n')}\n`)
}
