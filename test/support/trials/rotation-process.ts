/** A process of the trial of rotations: it works until it is asked to stop, or rotates and is killed. */
import { openStorage, type StorageAddress } from '../storages/open-storage.ts'
import { openRotating } from '../vaults/rotating-vault.ts'
import { blindStorage, rotateOften, type Work, workBeside } from './rotation-work.ts'

/** What the process is asked for. */
export interface RotationProcess {
  readonly address: StorageAddress
  /** Its work; undefined for the process that rotates. */
  readonly work?: Work
  readonly rotations: number
  /** Milliseconds by which its clock is ahead, so that it takes over from one that was killed. */
  readonly aheadMs: number
  readonly isBlind: boolean
}

const { address, work, rotations, aheadMs, isBlind } = JSON.parse(process.argv[2] ?? '') as RotationProcess
const storage = openStorage(address)
const vault = await openRotating(isBlind ? blindStorage(storage) : storage, { aheadMs })
const say = (message: unknown): void => void process.send?.(message)
say('open')
if (work === undefined) {
  await rotateOften(vault, rotations, (version) => say({ version })).catch((error: unknown) => say({ error: String(error) }))
} else {
  let isOver = false
  process.once('message', () => {
    isOver = true
  })
  say({ result: await workBeside(vault, work, () => isOver) })
}
await vault.close()
process.disconnect?.()
