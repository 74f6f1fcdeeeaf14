/** The lifetime of a vault and of its transactions: a vault waits for calls in progress before it closes, a transaction does not, and later ones are refused. */
import { VaultError } from '../errors.ts'
import { at } from '../util/lists.ts'

/** The calls that began between two changes of the keys. */
export interface Age {
  calls: number
  /** Runs when these calls and all before have ended. */
  after?: () => void
}

/** The calls of a vault, or of one transaction. */
export interface Lifetime {
  /** Begins a call. Throws `failed_precondition` after the vault was closed, `internal` after the transaction has ended. Each call that began also ends. */
  begin(): Age
  end(age: Age): void
  /** Throws `internal` after the transaction has ended: a call in progress can store nothing more. A vault waits for its calls. */
  assertNotEnded(): void
}

/** The lifetime of a vault. */
export interface VaultLifetime extends Lifetime {
  /** For what a call in progress still records: it begins also after the vault was closed, which waits for the call. */
  readonly ofCalls: Lifetime
  /** Throws `failed_precondition` after the vault was closed. */
  assertOpen(): void
  /** True if at most one call is in progress. */
  isAlone(): boolean
  /** Runs work when the calls in progress have ended, whatever began meanwhile. */
  afterCurrent(work: () => void): void
  /** Runs a call and returns its result. Rejects with `failed_precondition` after the vault was closed. */
  run<T>(call: () => Promise<T>): Promise<T>
  /** Refuses calls from now on, with the reason of the first closing. Resolves when those in progress have ended. */
  close(reason?: string): Promise<void>
}

/** The lifetime of a transaction of the vault, which is itself a call in progress of the vault. */
export interface TransactionLifetime extends Lifetime {
  /** Runs the work of the transaction and returns its result. The transaction has ended then. */
  run<T>(work: () => Promise<T>): Promise<T>
}

/** Returns the lifetime of a transaction that begins. */
export function createTransactionLifetime(): TransactionLifetime {
  let hasEnded = false
  const age: Age = { calls: 0 }
  const assertNotEnded = (): void => {
    if (hasEnded)
      throw new VaultError('internal', 'The transaction of this vault has ended. Await every call inside the callback.')
  }
  return {
    begin() {
      assertNotEnded()
      return age
    },
    end() {},
    assertNotEnded,
    async run(work) {
      try {
        return await work()
      } finally {
        hasEnded = true
      }
    },
  }
}

/** Returns the lifetime of an open vault. */
export function createLifetime(): VaultLifetime {
  let inProgress = 0
  let closedFor: string | undefined
  const waiting: (() => void)[] = []
  const assertOpen = (): void => {
    if (closedFor !== undefined) throw new VaultError('failed_precondition', closedFor)
  }
  const ages: Age[] = [{ calls: 0 }]
  const enter = (): Age => {
    inProgress++
    const age = at(ages, ages.length - 1)
    age.calls++
    return age
  }
  const begin = (): Age => {
    assertOpen()
    return enter()
  }
  const endAges = (): void => {
    for (let [oldest] = ages; oldest?.calls === 0 && oldest.after !== undefined; [oldest] = ages) {
      ages.shift()
      oldest.after()
    }
  }
  const end = (age: Age): void => {
    inProgress--
    age.calls--
    if (ages.length > 1) endAges()
    if (inProgress === 0 && waiting.length > 0) for (const resolve of waiting.splice(0)) resolve()
  }
  const assertNotEnded = (): void => {}
  return {
    ofCalls: { begin: enter, end, assertNotEnded },
    assertOpen,
    assertNotEnded,
    begin,
    end,
    isAlone: () => inProgress <= 1,
    afterCurrent(work) {
      at(ages, ages.length - 1).after = work
      ages.push({ calls: 0 })
      endAges()
    },
    async run(call) {
      const age = begin()
      try {
        return await call()
      } finally {
        end(age)
      }
    },
    async close(reason = 'The vault is closed. Open it again.') {
      closedFor ??= reason
      if (inProgress > 0) await new Promise<void>((resolve) => waiting.push(resolve))
    },
  }
}
