/** Trial: writers and readers in several processes during rotations, whose process is killed at random. Everything is as the model says, under the newest key. */
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { builtProcess } from '../cli/built-command.ts'
import { randomFor } from '../random/seeded-random.ts'
import type { openStorage } from '../storages/open-storage.ts'
import type { Place } from '../storages/places.ts'
import {
  type Filled,
  fillRotating,
  LEASE_MS,
  leftBehind,
  missingIn,
  openRotating,
  type RotatingVault,
} from '../vaults/rotating-vault.ts'
import { OWNER } from '../vaults/test-vault.ts'
import { MAX_FAILURES, type TrialReport } from './report.ts'
import type { RotationProcess } from './rotation-process.ts'
import { blindStorage, rotateOften, type WorkResult, workBeside } from './rotation-work.ts'

/** Where the trial runs, and how long. */
export interface RotationTrial {
  readonly place: Place
  readonly seed: string
  readonly rotations: number
  /** Times that the rotating process is killed. In memory it is never: it is this process. */
  readonly kills: number
  /** Rotates without comparing versions, for the negative control. */
  readonly isBlind?: boolean
}

/** Processes that write and read, and writers and as many readers of each. */
const NAMES = ['a', 'b']
const EACH = 4
/** Records that no one changes. Few, if the records that are changed must be read by a rotation before they are new. */
const SEEDED = { usual: 300, blind: 5 }

/** Runs the trial. Its figure is the number of calls beside the rotations. */
export async function runRotationTrial(trial: RotationTrial): Promise<TrialReport> {
  const vault = await openRotating(trial.place.open())
  const filled = await fillRotating(vault, trial.isBlind === true ? SEEDED.blind : SEEDED.usual)
  const address = trial.place.address()
  const { results, failures, versions, kills } =
    address === undefined ? await runHere(trial) : await runInProcesses({ ...trial, address })
  const checked = await openRotating(trial.place.open(), { aheadMs: (trial.kills + 1) * LEASE_MS })
  if (kills > 0 || trial.isBlind === true) await rotateOften(checked, 1, (version) => versions.push(version))
  failures.push(...results.flatMap((result) => result.failures))
  for (const one of [checked, vault]) failures.push(...(await wrongIn(one, filled, results)))
  await Promise.all([vault.close(), checked.close()])
  const sum = (member: 'writes' | 'reads') => results.reduce((total, result) => total + result[member], 0)
  const longest = Math.round(Math.max(...results.map(({ longestMs }) => longestMs)))
  const summary = `${versions.length} rotations, ${kills} kills, ${sum('writes')} writes and ${sum('reads')} reads beside, longest ${longest} ms`
  return { figure: sum('writes') + sum('reads'), failures: failures.slice(0, MAX_FAILURES), summary }
}

interface Ran {
  readonly results: readonly WorkResult[]
  readonly failures: string[]
  readonly versions: number[]
  readonly kills: number
}

async function runHere({ place, seed, rotations, isBlind = false }: RotationTrial): Promise<Ran> {
  const [rotating, ...working] = await Promise.all([
    openRotating(isBlind ? blindStorage(place.open()) : place.open()),
    ...NAMES.map(() => openRotating(place.open())),
  ])
  const versions: number[] = []
  let isOver = false
  const work = working.map((vault, n) =>
    workBeside(vault, { name: NAMES[n] ?? '', seed, writers: EACH, readers: EACH }, () => isOver),
  )
  await rotateOften(rotating, rotations, (version) => versions.push(version))
  isOver = true
  return { results: await Promise.all(work), failures: [], versions, kills: 0 }
}

async function runInProcesses({
  address,
  seed,
  rotations,
  kills: wanted,
  isBlind = false,
}: RotationTrial & { readonly address: Parameters<typeof openStorage>[0] }): Promise<Ran> {
  const random = randomFor(seed)
  const start = (given: Pick<RotationProcess, 'work' | 'rotations' | 'aheadMs' | 'isBlind'>): ChildProcess => {
    const options: RotationProcess = { address, ...given }
    return fork(builtProcess(join(import.meta.dirname, 'rotation-process.ts')), [JSON.stringify(options)], {
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    })
  }
  const workers = NAMES.map((name) => {
    const work = { name, seed, writers: EACH, readers: EACH }
    const child = start({ work, rotations: 0, aheadMs: 0, isBlind: false })
    const result = new Promise<WorkResult>((resolve, reject) => {
      child.on('message', (message: { result?: WorkResult }) => message.result !== undefined && resolve(message.result))
      child.once('exit', (code) => reject(new Error(`a process that writes ended with ${code}`)))
    })
    return { child, result, open: once(child, 'message') }
  })
  await Promise.all(workers.map(({ open }) => open))
  const versions: number[] = []
  const failures: string[] = []
  let kills = 0
  while (versions.length < rotations && failures.length === 0) {
    const child = start({ rotations: rotations - versions.length, aheadMs: kills * LEASE_MS, isBlind })
    child.on('message', (message: { version?: number; error?: string }) => {
      if (message.version !== undefined) versions.push(message.version)
      if (message.error !== undefined) failures.push(`the rotating process: ${message.error}`)
    })
    const gone = once(child, 'exit')
    if (kills < wanted) {
      await Promise.race([once(child, 'message'), gone])
      await Promise.race([pause(20 + random() * 900), gone])
      if (child.exitCode === null && child.kill('SIGKILL')) kills++
    }
    await gone
  }
  for (const { child } of workers) child.send('stop')
  return { results: await Promise.all(workers.map(({ result }) => result)), failures, versions, kills }
}

/** What a vault says that the model does not, or the other way round. */
async function wrongIn(vault: RotatingVault, filled: Filled, results: readonly WorkResult[]): Promise<string[]> {
  const session = vault.as(OWNER)
  const wrong: string[] = [...(await leftBehind(vault)), ...(await missingIn(vault, filled))]
  const stored = new Map<string, { email?: unknown; name?: unknown; city?: unknown }>()
  for await (const { records } of session.pages('people', { limit: 1000 }))
    for (const { id, fields } of records) stored.set(id, fields)
  const kept = results.flatMap((result) => Object.entries(result.kept))
  if (stored.size !== kept.length + filled.ids.length)
    wrong.push(`${stored.size} records, not ${kept.length + filled.ids.length}`)
  for (const [id, { email, name, city }] of kept) {
    const is = stored.get(id)
    if (is?.email !== email || is.name !== name || is.city !== city)
      wrong.push(`a record is not as its writer stored it last: ${name}, ${is?.name}`)
  }
  for (const id of results.flatMap(({ deleted }) => deleted)) if (stored.has(id)) wrong.push('a deleted record is back')
  for (let at = 0; at < kept.length; at += 25) {
    const part = kept.slice(at, at + 25)
    const { records } = await session.detokenize(part.map(([, { token }]) => ({ token })))
    if (records.some(({ value }, n) => value !== part[n]?.[1].email)) wrong.push('a token does not show the value of its record')
  }
  return wrong
}
