/** The commands move, backup and restore: between engines, with increments and recipients, and killed at any moment. */
import { generateKeyPairSync } from 'node:crypto'
import { readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { expect, inject, it, onTestFinished } from 'vitest'
import { commandFolder, runCommand, startCommand } from '../../support/cli/run-command.ts'
import { freshDatabase } from '../../support/postgres/fresh-database.ts'

const config = (storage: string) => `import { column, defineSchema } from 'strongroom'
import { defineConfig } from 'strongroom/config'
export default defineConfig({
  vault: {
    id: 'main',
    schema: defineSchema({ people: { name: column.string({ token: 'random', redaction: 'PLAIN_TEXT' }), email: column.string({ unique: true }) } }),
    storage: ${storage},
    keys: { file: 'vault.key' },
  },
})
`
const SQLITE = (file: string) => config(`{ sqlite: { filename: '${file}' } }`)
const POSTGRES = config(`{ postgres: { connectionString: { env: 'VAULT_DB' } } }`)

/** A folder with a vault of so many people. */
async function filledFolder(count: number): Promise<string> {
  const rows = Array.from({ length: count }, (_, n) => `Name ${n},p${n}@x.example`).join('\n')
  const folder = commandFolder({ 'strongroom.config.ts': SQLITE('vault.db'), 'people.csv': `name,email\n${rows}\n` })
  expect((await runCommand(['schema', 'apply'], { folder })).code).toBe(0)
  expect((await runCommand(['import', 'people', 'people.csv'], { folder })).code).toBe(0)
  return folder
}

const setConfig = (folder: string, text: string) => writeFileSync(join(folder, 'strongroom.config.ts'), text)
const exported = async (folder: string, env = {}) =>
  (await runCommand(['export', 'people', '--redaction', 'PLAIN_TEXT'], { folder, env })).stdout

async function database(): Promise<Record<string, string>> {
  const fresh = await freshDatabase(inject('postgresUrl'))
  onTestFinished(() => fresh.drop())
  return { VAULT_DB: fresh.url }
}

it('moves a vault to PostgreSQL and on to a file, verifies it, and closes what it left', async () => {
  const folder = await filledFolder(300)
  const before = await exported(folder)
  const env = await database()
  const there = await runCommand(['move', '--to-postgres-env', 'VAULT_DB'], { folder, env })
  expect(there).toMatchObject({ code: 0, stderr: '' })
  expect(there.stdout).toMatch(
    /^Moved \d+ rows\. The vault was closed for \d+ ms\.\nAll records and the audit trail were verified\.\nSet vault\.storage/,
  )
  const closed = await runCommand(['export', 'people'], { folder })
  expect([closed.code, closed.stderr]).toEqual([4, expect.stringContaining('The vault was moved out of this storage.')])
  setConfig(folder, POSTGRES)
  expect(await exported(folder, env)).toBe(before)
  const back = await runCommand(['move', '--to-sqlite', 'back.db', '--json'], { folder, env })
  expect(JSON.parse(back.stdout)).toMatchObject({ rows: { records_1_people: 300 }, verified: { records: true, audit: true } })
  setConfig(folder, SQLITE('back.db'))
  expect(await exported(folder)).toBe(before)
  const none = await runCommand(['move'], { folder })
  expect([none.code, none.stderr]).toEqual([2, expect.stringContaining('--to-sqlite or --to-postgres-env')])
  const full = await runCommand(['move', '--to-postgres-env', 'VAULT_DB'], { folder, env })
  expect([full.code, full.stderr]).toEqual([4, expect.stringContaining('holds a vault already')])
}, 120_000)

it('backs up all, then what changed, sealed for a recipient, and restores both elsewhere', async () => {
  const folder = await filledFolder(200)
  const pair = generateKeyPairSync('x25519')
  writeFileSync(join(folder, 'public.pem'), pair.publicKey.export({ type: 'spki', format: 'pem' }))
  writeFileSync(join(folder, 'private.pem'), pair.privateKey.export({ type: 'pkcs8', format: 'pem' }))
  const first = await runCommand(['backup', 'one.backup', '--recipient', 'public.pem'], { folder })
  expect(first).toMatchObject({ code: 0, stderr: '' })
  expect(statSync(join(folder, 'one.backup')).mode & 0o777).toBe(0o600)
  writeFileSync(join(folder, 'more.csv'), 'name,email\nLate,late@x.example\n')
  expect((await runCommand(['import', 'people', 'more.csv'], { folder })).code).toBe(0)
  const line = ['backup', 'two.backup', '--since', 'one.backup.manifest', '--recipient', 'public.pem', '--json']
  const second = JSON.parse((await runCommand(line, { folder })).stdout)
  expect(second).toMatchObject({ file: 'two.backup', manifest: 'two.backup.manifest', since: 'one.backup.manifest' })
  expect(second.bytes).toBeLessThan(statSync(join(folder, 'one.backup')).size / 3)
  expect((await runCommand(line, { folder })).code).toBe(5)
  const before = await exported(folder)

  setConfig(folder, SQLITE('restored.db'))
  const sealed = await runCommand(['restore', 'one.backup'], { folder })
  expect([sealed.code, sealed.stderr]).toEqual([4, expect.stringContaining('sealed for a recipient')])
  const damaged = Uint8Array.from(readFileSync(join(folder, 'one.backup')))
  damaged[5000] = (damaged[5000] ?? 0) ^ 1
  writeFileSync(join(folder, 'damaged.backup'), damaged)
  const refused = await runCommand(['restore', 'damaged.backup', '--private-key', 'private.pem'], { folder })
  expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining('Nothing of it opens')])
  const restored = await runCommand(['restore', 'one.backup', 'two.backup', '--private-key', 'private.pem'], { folder })
  expect(restored).toMatchObject({ code: 0, stderr: '' })
  expect(restored.stdout).toMatch(/^Restored \d+ rows\.\nAll records and the audit trail were verified\./)
  expect(await exported(folder)).toBe(before)
}, 120_000)

/** Starts a line that copies slowly, and kills it when it has copied for more than a second. */
async function killed(
  line: readonly string[],
  options: { folder: string; env?: Record<string, string> },
  milliseconds: number,
): Promise<void> {
  const running = startCommand([...line, '--pace', '400'], options)
  await running.waitFor(' rows, ')
  await pause(milliseconds)
  running.child.kill('SIGKILL')
  expect((await running.ended).code).toBe(null)
}

it('killed while it moves, leaves a vault that works and a copy that does not open; a second try ends', async () => {
  const folder = await filledFolder(2000)
  const before = await exported(folder)
  const env = await database()
  for (const milliseconds of [0, 900]) {
    await killed(['move', '--to-postgres-env', 'VAULT_DB'], { folder, env }, milliseconds)
    setConfig(folder, POSTGRES)
    const copy = await runCommand(['export', 'people'], { folder, env })
    expect([copy.code, copy.stderr]).toEqual([4, expect.stringContaining('has not ended')])
    setConfig(folder, SQLITE('vault.db'))
    expect(await exported(folder)).toBe(before)
  }
  // It reports its progress where the machine is slow.
  expect(await runCommand(['move', '--to-postgres-env', 'VAULT_DB'], { folder, env })).toMatchObject({ code: 0 })
  setConfig(folder, POSTGRES)
  expect(await exported(folder, env)).toBe(before)
}, 240_000)

it('killed while it restores, leaves nothing that opens, and a second try works', async () => {
  const folder = await filledFolder(2000)
  const before = await exported(folder)
  expect((await runCommand(['backup', 'one.backup'], { folder })).code).toBe(0)
  setConfig(folder, SQLITE('restored.db'))
  for (const milliseconds of [0, 900]) {
    await killed(['restore', 'one.backup', '--skip-verify'], { folder }, milliseconds)
    const found = await runCommand(['export', 'people'], { folder })
    expect([found.code, found.stderr]).toEqual([4, expect.stringContaining('has not ended')])
  }
  expect(await runCommand(['restore', 'one.backup'], { folder })).toMatchObject({ code: 0 })
  expect(await exported(folder)).toBe(before)
}, 240_000)
