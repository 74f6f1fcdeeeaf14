/** A storage that runs other work before or after one of its commits, and counts them. */
import type { StorageHandle } from '../../../src/core/ports/storage.ts'

/** A point of a commit. */
export type CommitMoment = 'before' | 'after'

/** Work that is done once. */
export interface CommitWork {
  isDue(): boolean
  run(): Promise<void>
}

/** A storage whose commits are watched. */
export interface WatchedCommits {
  readonly storage: StorageHandle
  /** Does the work once, at the next commit outside transactions that is due, which waits for it. */
  at(moment: CommitMoment, work: CommitWork): void
  /** Number of commits so far. */
  count(): number
}

/** Wraps a storage. */
export function watchedCommits(sound: StorageHandle): WatchedCommits {
  let waiting: { readonly moment: CommitMoment; readonly work: CommitWork } | undefined
  let commits = 0

  async function committing<T>(commit: () => Promise<T>): Promise<T> {
    commits++
    const due = waiting?.work.isDue() === true ? waiting : undefined
    if (due !== undefined) waiting = undefined
    if (due?.moment === 'before') await due.work.run()
    const result = await commit()
    if (due?.moment === 'after') await due.work.run()
    return result
  }

  return {
    storage: {
      ...sound,
      commit: (changes, options) => committing(() => sound.commit(changes, options)),
      transaction: (work, options) => committing(() => sound.transaction(work, options)),
    },
    at(moment, work) {
      waiting = { moment, work }
    },
    count: () => commits,
  }
}
