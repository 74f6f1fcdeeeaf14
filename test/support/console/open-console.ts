/** The console in a real Chromium, before a real server: everything that the browser asks for, receives, logs and refuses is kept. */
import { spawnSync } from 'node:child_process'
import { type Browser, type BrowserContext, type BrowserContextOptions, chromium, type Page } from 'playwright-core'
import { apiKeys, type HandlerOptions, serviceAccounts } from '../../../src/http/index.ts'
import { type ServedVault, serveVault } from '../http/serve-vault.ts'
import { type ConsoleCaller, type ConsoleVault, openConsoleVault } from './console-vault.ts'

const EXECUTABLE = process.env.CHROMIUM ?? 'chromium'
const FLAGS = [
  '--headless',
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  '--force-color-profile=srgb',
]

/** Where Chromium is; undefined if it is not installed. Tests of the console are skipped then. */
export const CHROMIUM: string | undefined = spawnSync('which', [EXECUTABLE], { encoding: 'utf8' }).stdout?.trim() || undefined

/** A tab, and what happened in it. */
export interface Tab {
  readonly page: Page
  /** What the page wrote to the console, errors that it did not catch, violations of its content policy, and dialogs of scripts. */
  readonly messages: readonly string[]
  /** Addresses that it asked for. */
  readonly requests: readonly string[]
  /** Returns everything that it received, as text. */
  received(): Promise<string>
}

/** A vault, and the API keys of its callers. */
export type KeyedVault<Caller extends string> = Pick<ConsoleVault, 'vault'> & { readonly keys: Readonly<Record<Caller, string>> }

/** A server with the console, and a browser. */
export interface OpenedConsole<Caller extends string = ConsoleCaller> extends KeyedVault<Caller> {
  readonly served: ServedVault
  /** Address of the console, without a slash at its end. */
  readonly url: string
  /** Opens a tab at a path of the console, in a profile that no other open tab has. */
  tab(path?: string, options?: BrowserContextOptions): Promise<Tab>
  /** Opens a tab, and signs in. */
  signedIn(caller: Caller, path?: string, options?: BrowserContextOptions): Promise<Tab>
  /** Says that the open tabs are done with, at the end of a test: the next ones of the same options take their places, which costs half of a new one. */
  release(): void
  close(): Promise<void>
}

/** How it is opened. */
export interface OpenConsoleOptions {
  readonly handler?: Partial<HandlerOptions>
  /** Path under which the handler is mounted. */
  readonly basePath?: string
}

/** Starts the server and Chromium, on a vault in memory: once for each test file. */
export async function openConsole(options: OpenConsoleOptions = {}): Promise<OpenedConsole & ConsoleVault> {
  const opened = await openConsoleVault()
  return { ...opened, ...(await openConsoleOn(opened, options)) }
}

/** Does the same on a vault that is open, and closes it at the end. */
export async function openConsoleOn<Caller extends string>(
  opened: KeyedVault<Caller>,
  { handler, basePath = '' }: OpenConsoleOptions = {},
): Promise<OpenedConsole<Caller>> {
  const authenticate = [apiKeys(), serviceAccounts()]
  const served = await serveVault({
    vault: opened.vault,
    handler: { authenticate, console: true, baseUrl: basePath, ...handler },
  })
  const { browser, leave } = await enterBrowser()
  const contexts: BrowserContext[] = []
  const used: Place[] = []
  const free: Place[] = []
  const url = `http://127.0.0.1:${served.port}${basePath}/console`
  const newPlace = async (options: BrowserContextOptions): Promise<Place> => {
    const context = await browser.newContext({ viewport: { width: 1320, height: 820 }, ...options })
    contexts.push(context)
    const page = await context.newPage()
    return { page, look: JSON.stringify(options), begin: await watch(page) }
  }
  const tab = async (path = '', options: BrowserContextOptions = {}): Promise<Tab> => {
    const at = free.findIndex(({ page, look }) => !page.isClosed() && look === JSON.stringify(options))
    const place = at < 0 ? await newPlace(options) : await cleared(free.splice(at, 1)[0] as Place, served.port)
    used.push(place)
    const watched = place.begin()
    await place.page.goto(`${url}${path}`)
    return watched
  }
  return {
    ...opened,
    served,
    url,
    tab,
    async signedIn(caller, path, options) {
      const watched = await tab(path, options)
      await signIn(watched.page, opened.keys[caller])
      return watched
    },
    release() {
      free.push(...used.splice(0))
    },
    async close() {
      await Promise.all(contexts.map((context) => context.close()))
      await leave()
      await served.close()
    },
  }
}

/** The browser of this process while a test file has it. */
let shared: { readonly browser: Promise<Browser>; users: number } | undefined

/** Returns the browser, which is started for the first user, and what ends it after the last one. */
async function enterBrowser(): Promise<{ browser: Browser; leave(): Promise<void> }> {
  shared ??= { browser: chromium.launch({ executablePath: CHROMIUM ?? EXECUTABLE, args: FLAGS }), users: 0 }
  const mine = shared
  mine.users++
  const browser = await mine.browser
  return {
    browser,
    async leave() {
      if (--mine.users > 0) return
      shared = undefined
      await browser.close()
    },
  }
}

/** A tab of Chromium, which tests have one after another. */
interface Place {
  readonly page: Page
  /** Its options, as text. */
  readonly look: string
  /** Returns a new record of what happens in it. */
  begin(): Tab
}

/** Takes a place from what was done in it: its routes, cookies and document, by another one of the same server. A clock stays: who installs one closes the context. */
async function cleared(place: Place, port: number): Promise<Place> {
  const { page } = place
  await page.unrouteAll({ behavior: 'ignoreErrors' })
  await page.context().setOffline(false)
  await page.context().clearCookies()
  await page.goto(`http://127.0.0.1:${port}/`)
  await page.mouse.move(0, 0)
  return place
}

/** Signs in with an API key, or with what the field of a label asks for, and waits for the first page. */
export async function signIn(page: Page, credential: string, label = 'API key'): Promise<void> {
  await page.getByLabel(label).last().fill(credential)
  await page.keyboard.press('Enter')
  await page.locator('.frame h1').waitFor()
}

/** Runs in each page before its own scripts. */
const REPORT = `addEventListener('securitypolicyviolation', ({ effectiveDirective, blockedURI, sourceFile }) =>
  reportViolation([effectiveDirective, blockedURI, sourceFile].join(' ')))`

/** Listens to a tab. Returns a function that begins a record of it. */
async function watch(page: Page): Promise<() => Tab> {
  let record = { messages: [] as string[], requests: [] as string[], bodies: [] as Promise<string>[] }
  page.on('console', (message) => record.messages.push(`${message.type()}: ${message.text()}`))
  page.on('pageerror', (error) => record.messages.push(`error: ${error.message}`))
  // What a script in a value would do.
  page.on('dialog', (dialog) => {
    record.messages.push(`dialog: ${dialog.message()}`)
    void dialog.dismiss()
  })
  page.on('request', (request) => record.requests.push(request.url()))
  page.on('response', (response) => {
    const head = JSON.stringify(response.headers())
    record.bodies.push(
      response.text().then(
        (text) => `${head}\n${text}`,
        () => head,
      ),
    )
  })
  // The console of the page has them too; the event has the directive and the place.
  await page.exposeFunction('reportViolation', (text: string) => record.messages.push(`violation: ${text}`))
  await page.addInitScript(REPORT)
  return () => {
    const begun = { messages: [], requests: [], bodies: [] } as typeof record
    record = begun
    return { page, ...begun, received: async () => (await Promise.all(begun.bodies)).join('\n') }
  }
}
