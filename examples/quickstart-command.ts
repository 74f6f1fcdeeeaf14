/** The command from start to end: makes a vault, serves it, imports a file, looks at it, replaces its key, and verifies what happened. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import { heading, line } from './terminal.ts'

const TOP = join(import.meta.dirname, '..')
const NODE = ['--import', pathToFileURL(join(TOP, 'scripts/resolve-sources.ts')).href, join(TOP, 'src/cli/strongroom.ts')]

// In place of `npm install strongroom better-sqlite3`.
const folder = mkdtempSync(join(tmpdir(), 'strongroom-command-'))
mkdirSync(join(folder, 'node_modules'))
symlinkSync(TOP, join(folder, 'node_modules/strongroom'), 'junction')
const PEOPLE =
  'name,email,phone,country\nBo Ek,bo@acme.example,+46701234567,SE\n"Cy Young, Jr.",CY@acme.example,,US\nDi,BO@acme.example,,US\n'
writeFileSync(join(folder, 'people.csv'), PEOPLE)

/** Runs the command, and prints the line and what it prints. Returns its standard output. */
function run(args: readonly string[], { shows = true, exits = 0 } = {}): string {
  line(`$ npx strongroom ${args.map((arg) => (/^[\w./:-]+$/.test(arg) ? arg : `"${arg}"`)).join(' ')}`)
  const { stdout, stderr, status } = spawnSync(process.execPath, [...NODE, ...args], { cwd: folder, encoding: 'utf8' })
  if (status !== exits) throw new Error(`It ended with ${status}:\n${stderr}`)
  if (shows) for (const one of `${stdout}${stderr}`.replaceAll(folder, '.').trimEnd().split('\n')) line(one)
  return stdout
}

/** Starts the server on spare ports. Returns its address. */
async function serve(): Promise<{ readonly server: ChildProcess; readonly base: string }> {
  line('$ npx strongroom serve &')
  const args = ['serve', '--port', '0', '--health-port', '0']
  const server = spawn(process.execPath, [...NODE, ...args], { cwd: folder, stdio: ['ignore', 'pipe', 'pipe'] })
  let printed = ''
  for (const stream of [server.stdout, server.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      printed += text
    })
  }
  for (;;) {
    const base = /http:\/\/127\.0\.0\.1:\d+/.exec(printed)?.[0]
    if (base !== undefined) return { server, base }
    if (server.exitCode !== null) throw new Error(`The server ended:\n${printed}`)
    await setTimeout(20)
  }
}

heading('1. A vault: configuration, schema, key file, and the key of its first owner')
const { apiKey } = JSON.parse(run(['init', '--yes', '--json'], { shows: false }))
line('Made schema.ts, strongroom.config.ts. Key of the owner, shown this once: sr_…')

heading('2. Served over HTTP: send values, receive tokens')
const { server, base } = await serve()
line(`$ curl ${base.replace(/\d+$/, '8420')}/v1/vaults/main/customers -H "Authorization: Bearer $KEY" -d …`)
const response = await fetch(`${base}/v1/vaults/main/customers`, {
  method: 'POST',
  headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
  body: JSON.stringify({
    records: [{ fields: { name: 'Ann Bell', email: 'ann@acme.example', country: 'SE' } }],
    tokenization: true,
  }),
})
line(await response.text())

heading('3. A file: rows that break a rule are left out, by line and reason')
run(['import', 'customers', 'people.csv'], { exits: 1 })

heading('4. Looking: values at the level that the caller is granted')
run(['get', 'customers'])
run(['query', "SELECT name, email FROM customers WHERE country = 'SE' AND email = 'ann@acme.example'"])

heading('5. A new key, beside the server')
run(['keys', 'rotate'])

heading('6. What happened, in a chain that cannot be edited unnoticed')
run(['audit', 'verify'])

heading('7. The server ends when the last request has its answer')
line('$ kill %1')
server.kill('SIGTERM')
const [code] = await once(server, 'exit')
line(`exit code ${code}`)
rmSync(folder, { recursive: true })
