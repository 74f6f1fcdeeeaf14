/** The commands import and export: files, mapping, rejects, exit codes, and going on after kills. */
import { appendFileSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { commandFolder, runCommand, startCommand } from '../../support/cli/run-command.ts'

const CONFIG = `import { column, defineSchema } from 'strongroom'
import { defineConfig } from 'strongroom/config'
export default defineConfig({
  vault: {
    id: 'main',
    schema: defineSchema({
      people: {
        name: column.string({ required: true, redaction: 'PLAIN_TEXT' }),
        email: column.string({ unique: true, redaction: 'PLAIN_TEXT' }),
        born: column.date({ redaction: 'PLAIN_TEXT' }),
      },
    }),
    storage: { sqlite: { filename: 'vault.db' } },
    keys: { file: 'vault.key' },
  },
})
`

/** Makes a folder with a vault. */
async function folderWith(files: Readonly<Record<string, string>>): Promise<string> {
  const folder = commandFolder({ 'strongroom.config.ts': CONFIG, ...files })
  expect((await runCommand(['schema', 'apply'], { folder })).code).toBe(0)
  return folder
}

it('imports a file by a mapping, writes rejects, ends with 1, and goes on', async () => {
  const csv = 'Name;Mail;Born\nAnn;ann@x.example;1.2.2001\nBo;bo@x.example;2001\nCy;ANN@x.example;\n'
  const mapping = { delimiter: ';', columns: { Name: 'name', Mail: 'email', Born: { column: 'born', date: 'DD.MM.YYYY' } } }
  const folder = await folderWith({ 'people.csv': csv, 'map.json': JSON.stringify(mapping) })
  const line = ['import', 'people', 'people.csv', '--mapping', 'map.json', '--rejects', 'rejects.ndjson']
  const dry = await runCommand([...line.slice(0, 5), '--dry-run', '--json'], { folder })
  expect([dry.code, JSON.parse(dry.stdout)]).toEqual([1, { records: 3, stored: 2, rejected: 1, skipped: 0, rejectedBefore: 0 }])
  expect(dry.stderr).toBe('Line 3: Column "born" must be written as DD.MM.YYYY.\n')
  const first = await runCommand(line, { folder })
  expect(first).toEqual({ code: 1, stdout: 'Stored 2 records in people, and rejected 1.\n', stderr: '' })
  const rejects = readFileSync(join(folder, 'rejects.ndjson'), 'utf8')
  expect(JSON.parse(rejects)).toEqual({
    record: 2,
    line: 3,
    column: 'born',
    code: 'unprocessable',
    reason: 'Column "born" must be written as DD.MM.YYYY.',
  })
  expect(statSync(join(folder, 'rejects.ndjson')).mode & 0o777).toBe(0o600)
  expect((await runCommand(line, { folder })).stdout).toBe(
    'Stored 0 records in people, and rejected 0.\nEarlier runs had stored 2, and rejected 1.\n',
  )
  expect(readFileSync(join(folder, 'rejects.ndjson'), 'utf8')).toBe(rejects)
  writeFileSync(join(folder, 'people.csv'), csv.replace('Ann', 'Anna'))
  const changed = await runCommand(line, { folder })
  expect([changed.code, changed.stderr]).toEqual([
    4,
    expect.stringContaining('The source is not the one that this import began with'),
  ])
}, 180_000)

it('adds to a file of rejects: those of another source, and behind a line that was cut', async () => {
  const folder = await folderWith({ 'one.csv': 'name,email\nA,a@x\nB,a@x\n', 'two.csv': 'name,email\nC,c@x\nD,c@x\n' })
  const file = join(folder, 'rejects.ndjson')
  expect((await runCommand(['import', 'people', 'one.csv', '--rejects', file], { folder })).code).toBe(1)
  const line = readFileSync(file, 'utf8')
  expect(JSON.parse(line)).toMatchObject({ record: 2, code: 'conflict' })
  appendFileSync(file, line.slice(0, 20))
  for (let n = 0; n < 2; n++) await runCommand(['import', 'people', 'two.csv', '--rejects', file], { folder })
  expect(readFileSync(file, 'utf8')).toBe(`${line}${line.slice(0, 20)}\n${line}`)
}, 60_000)

it('exports to standard output and to a new file, which an import of NDJSON reads', async () => {
  const folder = await folderWith({ 'people.csv': 'name,email\n"Ann, A",ann@x.example\nBo,bo@x.example\n' })
  expect((await runCommand(['import', 'people', 'people.csv'], { folder })).code).toBe(0)
  const all = await runCommand(['export', 'people', '--columns', 'email,name'], { folder })
  expect(all).toEqual({ code: 0, stdout: 'email,name\r\nann@x.example,"Ann, A"\r\nbo@x.example,Bo\r\n', stderr: '' })
  const where = ['export', 'people', '--json', '--columns', 'name', '--where']
  const one = await runCommand([...where, 'email'], { folder, input: 'bo@x.example\n' })
  expect((await runCommand([...where, 'email=bo@x.example'], { folder })).code).toBe(2)
  expect(one.stdout).toBe('{"name":"Bo"}\n')
  const exported = await runCommand(['export', 'people', '--out', 'out.csv', '--columns', 'name'], { folder })
  expect([exported.code, exported.stdout]).toEqual([0, expect.stringMatching(/^Wrote \d+ records to out\.csv\.\n$/)])
  expect(readFileSync(join(folder, 'out.csv'), 'utf8')).toBe('name\r\n"Ann, A"\r\nBo\r\n')
  expect(statSync(join(folder, 'out.csv')).mode & 0o777).toBe(0o600)
  const again = await runCommand(['export', 'people', '--out', 'out.csv'], { folder })
  expect([again.code, again.stderr]).toEqual([5, 'strongroom: out.csv: It exists already.\n'])
  const input = '{"name":"Cy","email":"ann@x.example"}\n{"name":"Di"}\n'
  const more = await runCommand(['import', 'people', '-', '--format', 'ndjson', '--upsert', 'email', '--json'], { folder, input })
  expect([more.code, JSON.parse(more.stdout)]).toMatchObject([1, { stored: 1, rejected: 1 }])
}, 180_000)

it('ends with the documented codes', async () => {
  const folder = await folderWith({ 'bad.json': '{', 'odd.json': '{"rows":[]}', 'people.csv': 'name,phone\n' })
  const codes = async (...lines: string[][]) => Promise.all(lines.map(async (line) => (await runCommand(line, { folder })).code))
  expect(await codes(['import', 'people', 'people.csv', '--mapping', 'bad.json'])).toEqual([2])
  expect(await codes(['import', 'people', 'people.csv', '--mapping', 'odd.json'])).toEqual([2])
  expect(await codes(['import', 'people', 'people.csv', '--batch', '0'])).toEqual([2])
  expect(await codes(['import', 'people', 'people.csv'])).toEqual([4])
  expect(await codes(['import', 'people', 'none.csv'])).toEqual([5])
  expect(await codes(['export', 'people', '--where', 'email'])).toEqual([2])
  expect(await codes(['export', 'pets'])).toEqual([4])
}, 180_000)

it('ends at Ctrl-C, and goes on by the same line', async () => {
  const rows = Array.from({ length: 6000 }, (_, index) => `Person ${index},p${index}@x.example\n`).join('')
  const folder = await folderWith({ 'people.csv': `name,email\n,early@x.example\n${rows}` })
  const line = ['import', 'people', 'people.csv', '--batch', '5', '--json']
  const running = startCommand(line, { folder })
  await running.waitFor('Line 2: ')
  running.child.kill('SIGINT')
  expect((await running.ended).code).toBe(130)
  const rest = await runCommand(line, { folder })
  const { records, stored, skipped } = JSON.parse(rest.stdout)
  expect([rest.code, records, stored + skipped]).toEqual([1, 6001, 6001])
  expect(skipped).toBeGreaterThan(0)
  const exported = await runCommand(['export', 'people', '--columns', 'name'], { folder })
  expect(exported.stdout.split('\r\n').length - 2).toBe(6000)
}, 180_000)
