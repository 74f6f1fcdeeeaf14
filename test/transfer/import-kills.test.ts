/** Imports of processes that are killed at any moment: no record is lost, and none is stored twice. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { builtProcess } from '../support/cli/built-command.ts'
import { ENGINES } from '../support/storages/engines.ts'
import { OWNER, openPeople } from '../support/vaults/test-vault.ts'

const RECORDS = 3000
const isBad = (record: number): boolean => record % 37 === 0
const SCRIPT = builtProcess(join(import.meta.dirname, '../support/transfer/importing-process.ts'))

/** Runs the import, and kills it `afterMs` after its second batch. Returns what it printed. */
async function runImport(address: string, file: string, afterMs?: number): Promise<string> {
  const child = spawn(process.execPath, [SCRIPT, address, file], { stdio: ['ignore', 'pipe', 'inherit'] })
  let printed = ''
  let isDue = afterMs !== undefined
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    printed += text
    if (!isDue || printed.split('records ').length < 3) return
    isDue = false
    setTimeout(() => child.kill('SIGKILL'), afterMs)
  })
  await once(child, 'close')
  return printed
}

/** When processes are killed, in milliseconds after their second batch: what is above the storage is the same on each. */
const KILLS = [
  { name: 'sqlite', moments: [0, 11, 29] },
  { name: 'postgres', moments: [3, 17] },
] as const

describe.each(KILLS)('an import on $name whose process is killed again and again', ({ name, moments }) => {
  const engine = ENGINES[name]()

  it('stores each record once, and passes on each reject', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'strongroom-import-'))
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
    const file = join(folder, 'people.csv')
    const numbers = Array.from({ length: RECORDS }, (_, index) => index + 1)
    writeFileSync(file, `name,salary\n${numbers.map((n) => `"Person, ${n}",${isBad(n) ? 'x' : n}\n`).join('')}`)
    const place = engine.fresh()
    const address = JSON.stringify(place.address())
    const vault = await openPeople(place.open())
    const outputs: string[] = []
    for (const afterMs of moments) outputs.push(await runImport(address, file, afterMs))
    expect(outputs.join('')).not.toContain('done')
    outputs.push(await runImport(address, file))
    expect(outputs.at(-1)).toContain('done')
    const rejected = new Set(outputs.join('').match(/(?<=reject )\d+(?= unprocessable)/g))
    expect([...rejected].map(Number).sort((a, b) => a - b)).toEqual(numbers.filter(isBad))
    const salaries: unknown[] = []
    for await (const { records } of vault.as(OWNER).pages('people', { limit: 1000, fields: ['salary'], redaction: 'PLAIN_TEXT' }))
      for (const { fields } of records) salaries.push(fields.salary)
    expect(salaries).toEqual(numbers.filter((n) => !isBad(n)))
    expect(await vault.verifyAudit()).toMatchObject({ ok: true })
    expect(await vault.verifyRecords()).toMatchObject({ ok: true })
    expect(await vault.maintenance()).toEqual([])
  }, 300_000)
})
