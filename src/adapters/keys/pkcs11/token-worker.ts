/** The program of the thread that talks to a token, as a text: a bundler moves files, and then no thread would find its own. */

/** What the thread gets when it starts. */
export interface TokenPlace {
  /** File of the package `pkcs11js`. */
  readonly packageFile: string
  /** Library of the token. */
  readonly module: string
  readonly tokenLabel: string
}

/** What the thread is asked. It overwrites `bytes` after wrapping. */
export interface TokenRequest {
  readonly id: number
  readonly task: 'wrap' | 'unwrap' | 'end'
  readonly pin: string
  readonly keyLabel: string
  readonly iv: Uint8Array
  readonly associatedData: Uint8Array
  readonly bytes: Uint8Array
}

/**
 * Where a call failed: `package` and `module` are not loaded, the `token` is not there, there is no such `key`, or there are several `keys`, the bytes
 * or their associated data differ (`mismatch`); anything else is `call`. `code` is the number that the token returned.
 */
export interface TokenFailure {
  readonly stage: 'package' | 'module' | 'token' | 'key' | 'keys' | 'mismatch' | 'call'
  readonly code?: number | undefined
}

/** What the thread replies. */
export interface TokenReply {
  readonly id: number
  readonly bytes?: Uint8Array
  readonly failure?: TokenFailure
}

/**
 * The library is never finalized: other threads of the process may use it. Keys are looked up at each call, so one that was deleted is not used
 * on. Some tokens say only that something failed when bytes do not decrypt. If they encrypt then, it was the bytes.
 */
export const TOKEN_WORKER = `
'use strict'
const { randomBytes } = require('node:crypto')
const { parentPort, workerData } = require('node:worker_threads')
const OUT_BYTES = 128
let api, library, session

const failure = (stage, error) => Object.assign(new Error(stage), { stage, code: typeof error?.code === 'number' ? error.code : undefined })
function at(stage, work) {
  try {
    return work()
  } catch (error) {
    throw failure(stage, error)
  }
}
function unless(code, work) {
  try {
    work()
  } catch (error) {
    if (error.code !== code) throw error
  }
}

function labelOf(slot) {
  try {
    return library.C_GetTokenInfo(slot).label.trimEnd()
  } catch {
    return undefined
  }
}

function openSession(pin) {
  api ??= at('package', () => require(workerData.packageFile))
  library ??= at('module', () => {
    const loaded = new api.PKCS11()
    loaded.load(workerData.module)
    return loaded
  })
  unless(api.CKR_CRYPTOKI_ALREADY_INITIALIZED, () => library.C_Initialize({ flags: api.CKF_OS_LOCKING_OK }))
  const slot = library.C_GetSlotList(true).find((one) => labelOf(one) === workerData.tokenLabel)
  if (slot === undefined) throw failure('token')
  session = library.C_OpenSession(slot, api.CKF_SERIAL_SESSION)
  unless(api.CKR_USER_ALREADY_LOGGED_IN, () => library.C_Login(session, api.CKU_USER, pin))
}

function closeSession() {
  const open = session
  session = undefined
  try {
    if (open !== undefined) library.C_CloseSession(open)
  } catch {
    // It is gone.
  }
}

function findKey(label) {
  library.C_FindObjectsInit(session, [{ type: api.CKA_CLASS, value: api.CKO_SECRET_KEY }, { type: api.CKA_LABEL, value: label }])
  try {
    const found = library.C_FindObjects(session, 2)
    if (found.length !== 1) throw failure(found.length === 0 ? 'key' : 'keys')
    return found[0]
  } finally {
    library.C_FindObjectsFinal(session)
  }
}

const bufferOf = (bytes) => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
const mechanismOf = (iv, associatedData) => ({
  mechanism: api.CKM_AES_GCM,
  parameter: { type: api.CK_PARAMS_AES_GCM, iv: bufferOf(iv), aad: bufferOf(associatedData), ivBits: iv.length * 8, tagBits: 128 },
})

function run(operation, bytes) {
  const out = Buffer.alloc(OUT_BYTES)
  try {
    return new Uint8Array(library[operation](session, bufferOf(bytes), out))
  } finally {
    out.fill(0)
  }
}

function encrypt(key, { iv, associatedData, bytes }) {
  library.C_EncryptInit(session, mechanismOf(iv, associatedData), key)
  return run('C_Encrypt', bytes)
}

function decrypt(key, { iv, associatedData, bytes }) {
  library.C_DecryptInit(session, mechanismOf(iv, associatedData), key)
  try {
    return run('C_Decrypt', bytes)
  } catch {
    assertWorks(key)
    throw failure('mismatch')
  }
}

function assertWorks(key) {
  try {
    encrypt(key, { iv: randomBytes(12), associatedData: new Uint8Array(0), bytes: new Uint8Array(1) })
  } catch (error) {
    if (error.code !== api.CKR_KEY_FUNCTION_NOT_PERMITTED) throw error
  }
}

function perform(request) {
  try {
    if (session === undefined) openSession(request.pin)
    const key = findKey(request.keyLabel)
    return request.task === 'wrap' ? encrypt(key, request) : decrypt(key, request)
  } catch (error) {
    if (error.stage === undefined || error.stage === 'token') closeSession()
    throw error.stage === undefined ? failure('call', error) : error
  } finally {
    if (request.task === 'wrap') request.bytes.fill(0)
  }
}

parentPort.on('message', (request) => {
  if (request.task === 'end') {
    closeSession()
    return parentPort.close()
  }
  try {
    const bytes = perform(request)
    parentPort.postMessage({ id: request.id, bytes }, [bytes.buffer])
  } catch ({ stage, code }) {
    parentPort.postMessage({ id: request.id, failure: { stage, code } })
  }
})
`
