"""The command that attaches a report, as far as it depends on the trackers there are."""

import click


class AttachCommand(click.Command):
    """A command with the options and examples of all trackers, which are imported only once it is used."""

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """As in click, with the trackers' options before its own."""
        from cpubisect.attach.registered import options

        own = super().get_params(ctx)
        arguments = [parameter for parameter in own if isinstance(parameter, click.Argument)]
        return [*arguments, *options(), *(parameter for parameter in own if parameter not in arguments)]

    def format_help_text(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """As in click, with the trackers' examples after it."""
        from cpubisect.attach.registered import examples

        super().format_help_text(ctx, formatter)
        lines = [f"  {ctx.command_path} 3 {example}" for example in examples()]
        formatter.write_paragraph()
        with formatter.indentation():
            formatter.write_text("\n".join(["\b", "Examples:", *lines]))
