/** Random steps of a world of files: each does something with the vaults, and notes it in the model. */
import { isVaultError } from '../../../src/index.ts'
import { abortedAt, inChunks } from './content-sources.ts'
import {
  advance,
  anyFile,
  anySlot,
  anyVault,
  assertRefusable,
  breakPorts,
  checkFile,
  checkStatus,
  dropRecord,
  mendPorts,
  nameIn,
  openVaultOf,
  type Planned,
  planFile,
  putFile,
  type Slot,
  type World,
} from './file-world.ts'
import { joined } from './open-archive.ts'

/** A step. */
type Step = (world: World) => Promise<void>

async function insertRecord(world: World): Promise<void> {
  const { records } = await anyVault(world).session.insert('papers', [{ fields: { title: 'a paper' } }])
  for (const { id } of records) world.records.set(id, { front: null, back: null })
}

async function uploadNew(world: World): Promise<void> {
  const file = planFile(world)
  const source = inChunks(file.content, world.random)
  const request = { table: 'papers', column: 'front', file: source, fileName: file.name } as const
  const { id } = await anyVault(world).session.uploadFile(request)
  world.records.set(id, { front: null, back: null })
  putFile(world, { id, column: 'front' }, file.name)
}

function uploadTo(world: World, { id, column }: Slot, file: Planned): Promise<unknown> {
  const source = inChunks(file.content, world.random)
  return anyVault(world).session.uploadFile({ table: 'papers', id, column, file: source, fileName: file.name })
}

async function upload(world: World): Promise<void> {
  const slot = anySlot(world)
  if (slot === undefined) return
  const file = planFile(world)
  await uploadTo(world, slot, file)
  putFile(world, slot, file.name)
}

async function uploadAborted(world: World): Promise<void> {
  const { random } = world
  const slot = anySlot(world)
  const { content } = planFile(world)
  const source = abortedAt(content, random.below(content.length + 1), 1 + random.below(100_000))
  const target = slot === undefined || random.chance(0.3) ? { column: 'front' as const } : slot
  await expectCodes(['cancelled'], anyVault(world).session.uploadFile({ table: 'papers', file: source, ...target }))
}

/** An upload that lasts so long that it counts as abandoned, and is purged. */
async function uploadTooSlow(world: World): Promise<void> {
  const { clock, random } = world
  const slot = anySlot(world)
  if (slot === undefined) return
  const { content, name } = planFile(world)
  const half = random.below(content.length)
  const purging = anyVault(world)
  const source = (async function* () {
    yield content.subarray(0, half)
    clock.ms += 25 * 3_600_000
    await purging.vault.sweep()
    yield content.subarray(half)
  })()
  const failed = anyVault(world).session.uploadFile({ table: 'papers', ...slot, file: source, fileName: name })
  await expectCodes(['aborted', 'not_found'], failed)
}

async function uploadByReference(world: World): Promise<void> {
  const slot = anySlot(world)
  if (slot === undefined) return
  const file = planFile(world)
  const { id, column } = slot
  const { session } = anyVault(world)
  const { tickets } = await session.uploadTicket({ table: 'papers', id, columns: [column] })
  const { ticket } = tickets[column]
  await anyVault(world).vault.uploadWithTicket(ticket, { file: file.content, fileName: file.name })
  putFile(world, slot, file.name)
  await expectCodes(['not_found'], anyVault(world).vault.uploadWithTicket(ticket, { file: Buffer.from('again') }))
}

async function read(world: World): Promise<void> {
  const found = anyFile(world)
  if (found !== undefined) await checkFile(world, found)
}

async function beginReading(world: World): Promise<void> {
  const found = anyFile(world)
  if (found === undefined) return
  const { slot, file } = found
  const vault = anyVault(world)
  try {
    const { stream } = await vault.session.openFile('papers', slot.id, slot.column)
    world.readers.push({ file, vault, chunks: stream[Symbol.asyncIterator](), position: 0 })
  } catch (error) {
    assertRefusable(world, file, error, false)
  }
}

async function continueReading(world: World): Promise<void> {
  const { readers, random } = world
  if (readers.length === 0) return
  const reader = random.pick(readers)
  for (let count = random.pick([1, 2, 1000]); count > 0; count--) {
    if (!(await advance(world, reader))) continue
    readers.splice(readers.indexOf(reader), 1)
    return
  }
}

async function deleteFile(world: World): Promise<void> {
  const found = anyFile(world)
  if (found === undefined) return
  const { slot } = found
  await anyVault(world).session.deleteFile('papers', slot.id, slot.column)
  putFile(world, slot, null)
}

async function deleteFileOfNone(world: World): Promise<void> {
  const slot = anySlot(world)
  if (slot === undefined || world.records.get(slot.id)?.[slot.column] !== null) return
  await expectCodes(['not_found'], anyVault(world).session.deleteFile('papers', slot.id, slot.column))
}

async function deleteRecord(world: World): Promise<void> {
  const slot = anySlot(world)
  if (slot === undefined) return
  await anyVault(world).session.deleteOne('papers', slot.id)
  dropRecord(world, slot.id)
}

async function deleteAll(world: World): Promise<void> {
  if (world.random.chance(0.7)) return
  await anyVault(world).session.delete('papers', '*')
  for (const id of [...world.records.keys()]) dropRecord(world, id)
}

/** A deletion inside a transaction, which rolls back or not. */
async function deleteInTransaction(world: World): Promise<void> {
  const found = anyFile(world)
  if (found === undefined) return
  const { slot } = found
  const isRolledBack = world.random.chance(0.5)
  try {
    await anyVault(world).vault.transaction(async (vault) => {
      await vault.as(CALLER).deleteFile('papers', slot.id, slot.column)
      if (isRolledBack) throw new RolledBack()
    })
    putFile(world, slot, null)
  } catch (error) {
    if (!(error instanceof RolledBack) && !(error instanceof Error && error.cause instanceof RolledBack)) throw error
  }
}

const CALLER = { actor: 'owner@acme.example', actorType: 'USER', roles: ['VAULT_OWNER'] } as const

class RolledBack extends Error {}

async function updateTitle(world: World): Promise<void> {
  const slot = anySlot(world)
  if (slot !== undefined) await anyVault(world).session.updateOne('papers', slot.id, { title: 'another title' })
}

async function status(world: World): Promise<void> {
  const slot = anySlot(world)
  if (slot !== undefined) await checkStatus(world, slot)
}

async function issueReference(world: World): Promise<void> {
  const found = anyFile(world)
  if (found === undefined) return
  const { slot, file } = found
  try {
    const { ticket, expiresAt } = await anyVault(world).session.downloadTicket('papers', slot.id, slot.column)
    world.references.push({ slot, name: file.name, ticket, expiresAt })
  } catch (error) {
    assertRefusable(world, file, error, false)
  }
}

async function useReference(world: World): Promise<void> {
  const { references, random, clock, records, planned } = world
  if (references.length === 0) return
  const { slot, name, ticket, expiresAt } = random.pick(references)
  const isValid = clock.ms < expiresAt && records.get(slot.id)?.[slot.column] === name
  const opening = anyVault(world).vault.downloadWithTicket(ticket)
  if (!isValid) return expectCodes(['not_found'], opening)
  const bytes = await joined((await opening).stream)
  if (planned.get(name)?.content.equals(bytes) !== true) throw new Error(`a reference to ${name} opened another file`)
}

async function moveClock({ clock, random }: World): Promise<void> {
  clock.ms += random.pick([1000, 60_000, 14 * 60_000, 16 * 60_000, 3_600_000, 25 * 3_600_000])
}

async function purge(world: World): Promise<void> {
  await anyVault(world).vault.sweep()
}

async function scan(world: World): Promise<void> {
  world.scans?.setBroken(world.random.chance(0.3))
  await anyVault(world).vault.scanFiles()
  world.scans?.setBroken(false)
}

/** Ends a process and starts another: closed, or left as it is, as after a crash. */
async function restart(world: World): Promise<void> {
  const { vaults } = world
  const [first] = vaults.filter(({ isClosed }) => !isClosed)
  if (first === undefined) return
  await first.vault.close()
  first.isClosed = true
  vaults.push(await openVaultOf(world))
}

/** Several changes of one column at the same time. */
async function race(world: World): Promise<void> {
  const slot = anySlot(world)
  if (slot === undefined) return
  const { random } = world
  const files = Array.from({ length: 1 + random.below(3) }, () => planFile(world))
  const uploads = files.map((file) => uploadTo(world, slot, file))
  const deletion = random.chance(0.5) ? anyVault(world).session.deleteFile('papers', slot.id, slot.column) : undefined
  const removal = random.chance(0.2) ? anyVault(world).session.deleteOne('papers', slot.id) : undefined
  const results = await Promise.allSettled([...uploads, deletion, removal])
  for (const result of results) if (result.status === 'rejected') assertCode(RACE_ERRORS, result.reason)
  const stored = files.filter((_, index) => results[index]?.status === 'fulfilled').map(({ name }) => name)
  const isDeleted = deletion !== undefined && results[files.length]?.status === 'fulfilled'
  const isRemoved = removal !== undefined && results[files.length + 1]?.status === 'fulfilled'
  const before = world.records.get(slot.id)?.[slot.column] ?? null
  const unchanged = stored.length === 0 && !isDeleted ? [before] : []
  await resolve(world, slot, isRemoved ? [undefined] : [...stored, ...(isDeleted ? [null] : []), ...unchanged])
  // Of files that were stored one after the other, the model does not know which was replaced and which was deleted.
  for (const name of [before, ...stored])
    if (name !== null && world.records.get(slot.id)?.[slot.column] !== name)
      world.removed.set(name, { how: 'deleted', at: world.clock.ms })
}

const RACE_ERRORS = ['aborted', 'conflict', 'not_found', 'failed_precondition']

/** One change while calls of the storage and the blob store fail. */
async function changeWithFaults(world: World): Promise<void> {
  const slot = anySlot(world)
  if (slot === undefined) return
  const { random } = world
  const before = world.records.get(slot.id)?.[slot.column] ?? null
  const file = planFile(world)
  const after = random.pick([file.name, null, undefined])
  breakPorts(world, random.pick([0.05, 0.2, 0.5]))
  const [result] = await Promise.allSettled([changeTo(world, slot, { after, file })])
  mendPorts(world)
  if (result.status === 'fulfilled') return resolve(world, slot, [after])
  assertCode(FAULT_ERRORS, result.reason)
  await resolve(world, slot, isVaultError(result.reason, 'outcome_unknown') ? [before, after] : [before])
}

const FAULT_ERRORS = ['unavailable', 'internal', 'outcome_unknown', 'aborted', 'not_found', 'failed_precondition']

function changeTo(
  world: World,
  slot: Slot,
  { after, file }: { readonly after: string | null | undefined; readonly file: Planned },
): Promise<unknown> {
  const { session } = anyVault(world)
  if (after === undefined) return session.deleteOne('papers', slot.id)
  return after === null ? session.deleteFile('papers', slot.id, slot.column) : uploadTo(world, slot, file)
}

/** Notes what a column has, which must be one of these names: null without a file, undefined without the record. */
async function resolve(world: World, slot: Slot, mayBe: readonly (string | null | undefined)[]): Promise<void> {
  const name = await nameIn(world, slot)
  if (!mayBe.includes(name)) throw new Error(`a column has ${name}, and not ${mayBe.join(' or ')}`)
  if (name === undefined) dropRecord(world, slot.id)
  else putFile(world, slot, name)
}

function assertCode(codes: readonly string[], error: unknown): void {
  if (codes.some((code) => isVaultError(error) && error.code === code)) return
  throw new Error(`an error that is not ${codes.join(' or ')}`, { cause: error })
}

async function expectCodes(codes: readonly string[], refused: Promise<unknown>): Promise<void> {
  const thrown = await refused.then(
    () => new Error('nothing was refused'),
    (error: unknown) => error,
  )
  assertCode(codes, thrown)
}

/** The steps, each as often as its weight. */
const STEPS: readonly (readonly [weight: number, name: string, step: Step])[] = [
  [2, 'insert', insertRecord],
  [3, 'upload to a new record', uploadNew],
  [8, 'upload', upload],
  [3, 'aborted upload', uploadAborted],
  [1, 'upload that takes a day', uploadTooSlow],
  [2, 'upload by reference', uploadByReference],
  [6, 'read', read],
  [4, 'begin to read', beginReading],
  [6, 'continue to read', continueReading],
  [3, 'delete a file', deleteFile],
  [1, 'delete a file that is not there', deleteFileOfNone],
  [1, 'delete a record', deleteRecord],
  [1, 'delete all', deleteAll],
  [2, 'delete in a transaction', deleteInTransaction],
  [1, 'update another column', updateTitle],
  [2, 'status', status],
  [2, 'issue a reference', issueReference],
  [2, 'use a reference', useReference],
  [3, 'move the clock', moveClock],
  [2, 'purge', purge],
  [3, 'scan', scan],
  [1, 'restart', restart],
  [3, 'race', race],
  [4, 'change with faults', changeWithFaults],
]

const WEIGHTED = STEPS.flatMap(([weight, name, step]) => Array.from({ length: weight }, () => ({ name, step })))

/** Does a random step. Its error says what step it was. */
export async function randomStep(world: World): Promise<void> {
  const { name, step } = world.random.pick(WEIGHTED)
  try {
    await step(world)
  } catch (error) {
    throw new Error(`${name}: ${error instanceof Error ? error.message : String(error)}`, { cause: error })
  }
}
