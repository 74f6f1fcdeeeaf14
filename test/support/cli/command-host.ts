/** A process that has the command loaded, and runs the lines that its parent sends, one after the other. */
import { registerHooks } from 'node:module'
import process from 'node:process'
import { Readable } from 'node:stream'
import { setTimeout as pause } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import { runLine } from '../../../src/cli/run-line.ts'
import { openDescriptors } from '../trials/open-descriptors.ts'

/** A line to run. */
export interface HostedLine {
  readonly args: readonly string[]
  readonly folder: string
  readonly env: Readonly<Record<string, string | undefined>>
  /** What standard input has. */
  readonly input: string
  /** What it prints behind all that the line printed, on both streams. */
  readonly mark: string
}

/** What the host says when a line has ended. */
export interface HostedEnd {
  readonly code: number
  /** What the line has left open: what keeps a process from ending, and files. */
  readonly open: readonly string[]
}

/** A command closes all it has opened, and engines need some time for it. */
const CLOSE_MS = 2000

const umask = process.umask()
const home = process.cwd()
let run = 0
let folder = ''

// A line reads the modules of its folder as they are now, and not as they were in a line before.
registerHooks({
  resolve(specifier, context, next) {
    const found = next(specifier, context)
    const isOfFolder = found.url.startsWith(folder) && !found.url.includes('/node_modules/')
    return isOfFolder && context.conditions.includes('import') ? { ...found, url: `${found.url}?run=${run}` } : found
  },
})

async function runHosted({ args, env, input, mark, ...line }: HostedLine): Promise<HostedEnd> {
  run++
  process.umask(umask)
  process.chdir(line.folder)
  folder = `${pathToFileURL(process.cwd()).href}/`
  for (const name of Object.keys(process.env)) if (env[name] === undefined) delete process.env[name]
  Object.assign(process.env, env)
  const stdin = Readable.from([Buffer.from(input)], { objectMode: false })
  Object.defineProperty(process, 'stdin', { value: stdin, configurable: true })
  const before = openNow()
  const { stdout, stderr } = process
  const code = await runLine(args, { stdout, stderr, environment: process.env, onInterrupt: () => {} })
  let open = opened(before)
  for (let waited = 0; open.length > 0 && waited < CLOSE_MS; waited += 5) {
    await pause(5)
    open = opened(before)
  }
  // The test can remove the folder.
  process.chdir(home)
  for (const stream of [stdout, stderr]) stream.write(mark)
  return { code, open }
}

/** Returns what is open now and was not before. */
function opened(before: readonly string[]): string[] {
  const rest = [...before]
  return openNow().filter((name) => {
    const index = rest.indexOf(name)
    if (index >= 0) rest.splice(index, 1)
    return index < 0
  })
}

/** Returns the kinds of what keeps this process from ending, and where the system shows them the paths of its files; Node keeps that of random bytes. */
function openNow(): string[] {
  const files = openDescriptors().filter((target) => target.startsWith('/') && target !== '/dev/urandom')
  return [...process.getActiveResourcesInfo(), ...files]
}

process.on('message', (line: HostedLine) => void runHosted(line).then((end) => process.send?.(end)))
// The process of the tests has ended, and perhaps in the middle of a line.
process.on('disconnect', () => process.exit())
