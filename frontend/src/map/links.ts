// Addresses of the console's pages, from the templates that the page gives in data attributes.
export class Links {
  constructor(private readonly templates: DOMStringMap) {}

  node(name: string): string { return fill(this.templates['nodeUrl'], { node: name }); }

  /** An empty label value is a domain too; `-`, which is no label value, stands for it in addresses. */
  domain(name: string, key: string): string { return fill(this.templates['domainUrl'], { domain: name || '-', key }); }

  group(key: string): string { return fill(this.templates['groupUrl'], parts(key)); }

  explanation(key: string): string { return fill(this.templates['explanationUrl'], parts(key)); }
}

/** Each __name__ of a template becomes one path segment or query value. */
function fill(template: string | undefined, values: Record<string, string>): string {
  return Object.entries(values).reduce((text, [name, value]) => text.replaceAll(`__${name}__`, encodeURIComponent(value)), template ?? '#');
}

function parts(key: string): { ns: string; name: string } {
  const slash = key.indexOf('/');
  return { ns: key.slice(0, slash), name: key.slice(slash + 1) };
}
