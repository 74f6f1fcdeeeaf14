/** The console in a real Chromium, before a real server: everything that the browser asks for, receives, logs and refuses is kept. */
import { spawnSync } from 'node:child_process'
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core'
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
  readonly browser: Browser
  /** Address of the console, without a slash at its end. */
  readonly url: string
  /** Opens a tab at a path of the console, in a profile of its own. */
  tab(path?: string, options?: BrowserContextOptions): Promise<Tab>
  /** Opens a tab, and signs in. */
  signedIn(caller: Caller, path?: string, options?: BrowserContextOptions): Promise<Tab>
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
  const browser = await chromium.launch({ executablePath: CHROMIUM ?? EXECUTABLE, args: FLAGS })
  const url = `http://127.0.0.1:${served.port}${basePath}/console`
  const tab = async (path = '', options: BrowserContextOptions = {}): Promise<Tab> => {
    const context = await browser.newContext({ viewport: { width: 1320, height: 820 }, ...options })
    const page = await context.newPage()
    const watched = await watch(page)
    await page.goto(`${url}${path}`)
    return watched
  }
  return {
    ...opened,
    served,
    browser,
    url,
    tab,
    async signedIn(caller, path, options) {
      const watched = await tab(path, options)
      await signIn(watched.page, opened.keys[caller])
      return watched
    },
    async close() {
      await browser.close()
      await served.close()
    },
  }
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

async function watch(page: Page): Promise<Tab> {
  const messages: string[] = []
  const requests: string[] = []
  const bodies: Promise<string>[] = []
  page.on('console', (message) => messages.push(`${message.type()}: ${message.text()}`))
  page.on('pageerror', (error) => messages.push(`error: ${error.message}`))
  // What a script in a value would do.
  page.on('dialog', (dialog) => {
    messages.push(`dialog: ${dialog.message()}`)
    void dialog.dismiss()
  })
  page.on('request', (request) => requests.push(request.url()))
  page.on('response', (response) => {
    const head = JSON.stringify(response.headers())
    bodies.push(
      response.text().then(
        (text) => `${head}\n${text}`,
        () => head,
      ),
    )
  })
  // The console of the page has them too; the event has the directive and the place.
  await page.exposeFunction('reportViolation', (text: string) => messages.push(`violation: ${text}`))
  await page.addInitScript(REPORT)
  return { page, messages, requests, received: async () => (await Promise.all(bodies)).join('\n') }
}
